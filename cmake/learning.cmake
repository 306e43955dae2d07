# The learning room: on libtorch (Debian's 1.13 or newer), the BLAS that libtorch uses, and the image decoders.
find_package(Torch REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(ZLIB REQUIRED)
find_library(ZKAPEX_BLAS NAMES openblas REQUIRED)
find_path(ZKAPEX_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-openmp openblas REQUIRED)

zkapex_room(learning ROOMS attestation
  LIBRARIES ${TORCH_LIBRARIES} ${ZKAPEX_BLAS} PNG::PNG JPEG::JPEG ZLIB::ZLIB nlohmann_json::nlohmann_json)
target_include_directories(zkapex_learning SYSTEM PUBLIC ${TORCH_INCLUDE_DIRS} ${ZKAPEX_CBLAS_INCLUDE})
# libtorch's headers take most of the time to compile a file: once for all.
target_precompile_headers(zkapex_learning PRIVATE ${CMAKE_SOURCE_DIR}/src/learning/torch.h)
if(TARGET learning_test)
  target_precompile_headers(learning_test REUSE_FROM zkapex_learning)
endif()
