# The rooms on libtorch, Debian's 1.13 or a newer one (CMAKE_PREFIX_PATH says where). at::parallel_for is parallel only
# in files compiled with OpenMP. With OpenBLAS, Fisher blocks are added up by symmetric updates, half the work of
# libtorch's products; a libtorch that brings a BLAS of its own does without.
find_package(Torch REQUIRED)
find_package(OpenMP REQUIRED)
find_library(ZKAPEX_BLAS NAMES openblas)
find_path(ZKAPEX_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-openmp openblas)
# stdc++ first: the libtorch of Python's package has an old, partial std::filesystem of its own in it, which would
# otherwise be found before that of the standard library.
zkapex_room(learning ROOMS data unlearning LIBRARIES stdc++ ${TORCH_LIBRARIES} OpenMP::OpenMP_CXX
  PRECOMPILE learning/torch.h learning/dataset.h WITH_TESTS)
# Newer libtorchs bring the headers of another fmt: those of the library that is linked come first.
get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${fmt_include}/fmt ${CMAKE_BINARY_DIR}/include/fmt SYMBOLIC)
target_include_directories(zkapex_learning SYSTEM PUBLIC ${CMAKE_BINARY_DIR}/include ${TORCH_INCLUDE_DIRS})
if(ZKAPEX_BLAS AND ZKAPEX_CBLAS_INCLUDE)
  target_include_directories(zkapex_learning SYSTEM PUBLIC ${ZKAPEX_CBLAS_INCLUDE})
  target_link_libraries(zkapex_learning PUBLIC ${ZKAPEX_BLAS})
  target_compile_definitions(zkapex_learning PUBLIC ZKAPEX_CBLAS)
else()
  message(STATUS "No OpenBLAS: Fisher blocks are added up by libtorch")
endif()

# Their files use models and compute little with tensors: libtorch's functions are not in their header.
zkapex_room(experiments ROOMS tables learning PRECOMPILE learning/dataset.h attestation/inputs.h WITH_TESTS)
zkapex_room(demo ROOMS experiments PRECOMPILED_BY experiments WITH_TESTS)
