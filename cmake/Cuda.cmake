# The GPU path: CUDA's compiler, its runtime as a static library, NCCL's header. All or nothing.
#
#   COMMBOUND_CUDA_FOUND   whether this build has the GPU path
#   cb_cudart              target: the CUDA runtime, for C and CUDA sources of ours
set(COMMBOUND_CUDA_FOUND FALSE)
set(COMMBOUND_CUDA_MISSING "COMMBOUND_CUDA=OFF")
if(NOT COMMBOUND_CUDA STREQUAL "OFF" AND NOT COMMBOUND_MEASURE)
    set(COMMBOUND_CUDA_MISSING "without MPI there is nothing to measure")
elseif(NOT COMMBOUND_CUDA STREQUAL "OFF")
    include(CheckLanguage)
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        # Every generation that this toolkit knows, and PTX for those to come: the program is built
        # where there is no GPU. Given before the language is enabled, or CMake picks only one.
        set(COMMBOUND_CUDA_CODE ${CMAKE_CUDA_ARCHITECTURES})
        if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
            set(COMMBOUND_CUDA_CODE all-major)
            if(CMAKE_VERSION VERSION_LESS 3.23) # does not know the word, but the compiler does
                set(CMAKE_CUDA_ARCHITECTURES OFF)
                string(APPEND CMAKE_CUDA_FLAGS " -arch=all-major")
            else()
                set(CMAKE_CUDA_ARCHITECTURES all-major)
            endif()
        endif()
        enable_language(CUDA)
        # The runtime is named in one place (cb_cudart), and our device code needs no C++ library.
        # Only now: CMake's own first program needs both.
        set(CMAKE_CUDA_RUNTIME_LIBRARY None)
        set(CMAKE_CUDA_IMPLICIT_LINK_LIBRARIES "")
        find_package(CUDAToolkit QUIET)
        find_package(NCCL 2.19 QUIET MODULE)
    endif()
    if(NOT CMAKE_CUDA_COMPILER)
        set(COMMBOUND_CUDA_MISSING "no nvcc found: put it on PATH, or set CUDACXX to it")
    elseif(NOT TARGET CUDA::cudart_static)
        set(COMMBOUND_CUDA_MISSING "libcudart_static.a not found: set CUDAToolkit_ROOT to a whole CUDA toolkit")
    elseif(NOT NCCL_FOUND)
        set(COMMBOUND_CUDA_MISSING "no nccl.h of NCCL 2.19 or later found: install libnccl-dev, or set NCCL_ROOT")
    else()
        set(COMMBOUND_CUDA_FOUND TRUE)
    endif()
endif()
if(COMMBOUND_CUDA STREQUAL "ON" AND NOT COMMBOUND_CUDA_FOUND)
    message(FATAL_ERROR "COMMBOUND_CUDA=ON, but ${COMMBOUND_CUDA_MISSING}")
endif()

if(COMMBOUND_CUDA_FOUND)
    # An executable whose property COMMBOUND_SIMULATED_CUDA is set gets the target of that name in
    # place of the runtime. The runtime is static, so that the program starts where there is no
    # CUDA and can say so.
    add_library(cb_cudart INTERFACE)
    target_include_directories(cb_cudart SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
    set(simulated $<TARGET_PROPERTY:COMMBOUND_SIMULATED_CUDA>)
    target_link_libraries(cb_cudart INTERFACE $<IF:$<BOOL:${simulated}>,${simulated},CUDA::cudart_static>)

    # Flags of every CUDA source of ours: without them nvcc's objects would need libstdc++.
    add_library(cb_cuda_flags INTERFACE)
    target_compile_options(
        cb_cuda_flags INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fno-exceptions,-fno-rtti,-fno-threadsafe-statics>)
endif()
