# One interface target carries the language level and the warnings of every target of ours.
add_library(cb_warnings INTERFACE)
target_compile_features(cb_warnings INTERFACE c_std_17)
# nvcc gets its own few (cmake/Cuda.cmake): it hands code of its own to the host's compiler.
set(cb_c_warnings
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wconversion
    -Wstrict-prototypes
    -Wmissing-prototypes
    -Wundef
    -Wvla
    -Wformat=2
    -Wwrite-strings)
if(COMMBOUND_WERROR)
    list(APPEND cb_c_warnings -Werror)
endif()
target_compile_options(cb_warnings INTERFACE "$<$<COMPILE_LANGUAGE:C>:${cb_c_warnings}>")

# COMMBOUND_SANITIZE=address,undefined builds everything of ours under those sanitizers.
if(COMMBOUND_SANITIZE)
    target_compile_options(
        cb_warnings
        INTERFACE "$<$<COMPILE_LANGUAGE:C>:-fsanitize=${COMMBOUND_SANITIZE};-fno-omit-frame-pointer>")
    target_link_options(cb_warnings INTERFACE -fsanitize=${COMMBOUND_SANITIZE})
endif()
