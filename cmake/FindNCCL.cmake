# NCCL's header and its version. No library is looked for: the program opens one when it runs.
#
#   NCCL_ROOT, NCCL_HOME   where to look first (variable or environment)
#   NCCL_FOUND, NCCL_INCLUDE_DIR, NCCL_VERSION
#   NCCL::headers          target
find_path(
    NCCL_INCLUDE_DIR nccl.h
    HINTS ${NCCL_ROOT} $ENV{NCCL_ROOT} $ENV{NCCL_HOME} ${CUDAToolkit_INCLUDE_DIRS} $ENV{CONDA_PREFIX}
    PATH_SUFFIXES include)
if(NCCL_INCLUDE_DIR)
    file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h NCCL_VERSION_LINES REGEX "#define NCCL_(MAJOR|MINOR|PATCH) ")
    string(REGEX REPLACE "[^0-9]*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3"
                         NCCL_VERSION "${NCCL_VERSION_LINES}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION)
mark_as_advanced(NCCL_INCLUDE_DIR)

if(NCCL_FOUND AND NOT TARGET NCCL::headers)
    add_library(NCCL::headers INTERFACE IMPORTED)
    set_target_properties(NCCL::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
endif()
