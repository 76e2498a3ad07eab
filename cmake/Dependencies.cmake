# Every outside library is found here, once, and said in the summary.
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(CYAML REQUIRED IMPORTED_TARGET libcyaml>=1.3)
find_package(EXPAT 2.4 REQUIRED) # 2.4: bounds what entities may grow to

set(COMMBOUND_MPI_FOUND FALSE)
if(NOT COMMBOUND_MPI STREQUAL "OFF")
    # Always name the component: FindMPI probes every enabled language otherwise.
    find_package(MPI COMPONENTS C QUIET)
    set(COMMBOUND_MPI_FOUND ${MPI_C_FOUND})
    if(COMMBOUND_MPI STREQUAL "ON" AND NOT COMMBOUND_MPI_FOUND)
        message(FATAL_ERROR "COMMBOUND_MPI=ON but no MPI was found: install libopenmpi-dev, or set MPI_HOME")
    endif()
endif()

# Without MPI there is nothing to measure: OpenMP and OpenBLAS belong to measuring. hwloc reads files
# of lstopo too, where it is there.
set(COMMBOUND_MEASURE ${COMMBOUND_MPI_FOUND})
if(COMMBOUND_MEASURE)
    pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc>=2.5)
else()
    pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc>=2.5)
endif()
if(COMMBOUND_MEASURE)
    find_package(OpenMP REQUIRED COMPONENTS C)
    # The OpenMP flavour shares the kernels' thread pool; see docs/design.md.
    find_library(
        OPENBLAS_LIBRARY openblas
        PATH_SUFFIXES openblas-openmp
        REQUIRED)
    find_path(
        OPENBLAS_INCLUDE_DIR cblas.h
        PATH_SUFFIXES openblas-openmp openblas
        REQUIRED)
endif()

include(${CMAKE_CURRENT_LIST_DIR}/Cuda.cmake)

message(STATUS "commbound ${PROJECT_VERSION}: measure over MPI: ${COMMBOUND_MEASURE}"
               " (MPI ${MPI_C_VERSION}, hwloc ${HWLOC_VERSION}), jansson ${JANSSON_VERSION}")
if(COMMBOUND_CUDA_FOUND)
    message(STATUS "GPU path: CUDA ${CUDAToolkit_VERSION} for ${COMMBOUND_CUDA_CODE}, header of NCCL ${NCCL_VERSION}")
else()
    message(STATUS "GPU path: left out (${COMMBOUND_CUDA_MISSING})")
endif()
