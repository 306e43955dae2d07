# The learning room. What of it reads files, cuts text and deals samples needs no libtorch: a library of its own, which
# sanitizers and fuzzers can run.
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(ZLIB REQUIRED)
set(without_torch bpe_trainer data_source documents idx_file image image_decoder membership model_config pretokenizer
  splits tokenizer tokenizer_files unicode)
list(JOIN without_torch "|" without_torch)
set(without_torch "/(${without_torch})(_test|_fuzzer)?\\.cpp$")
zkapex_room(learning_files FOLDER learning ONLY ${without_torch} ROOMS base
  LIBRARIES PNG::PNG JPEG::JPEG ZLIB::ZLIB nlohmann_json::nlohmann_json)

# The rest: on libtorch (Debian's 1.13 or newer) and the BLAS that libtorch uses.
if(ZKAPEX_LEARNING)
  find_package(Torch REQUIRED)
  find_library(ZKAPEX_BLAS NAMES openblas REQUIRED)
  find_path(ZKAPEX_CBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-openmp openblas REQUIRED)
  zkapex_room(learning EXCEPT ${without_torch} ROOMS learning_files attestation LIBRARIES ${TORCH_LIBRARIES} ${ZKAPEX_BLAS})
  target_include_directories(zkapex_learning SYSTEM PUBLIC ${TORCH_INCLUDE_DIRS} ${ZKAPEX_CBLAS_INCLUDE})
  # libtorch's headers take most of the time to compile a file: once for all.
  target_precompile_headers(zkapex_learning PRIVATE ${CMAKE_SOURCE_DIR}/src/learning/torch.h)
  if(TARGET learning_test)
    target_precompile_headers(learning_test REUSE_FROM zkapex_learning)
  endif()
endif()

# Experiments: what runs cells and makes tables of them needs no libtorch either.
set(experiment_frame "/(cells|chart|config|folders|machine|report|runner)(_test)?\\.cpp$")
zkapex_room(experiment_frame FOLDER experiments ONLY ${experiment_frame} ROOMS learning_files attestation)
if(ZKAPEX_LEARNING)
  zkapex_room(experiments EXCEPT ${experiment_frame} ROOMS experiment_frame learning)
  target_precompile_headers(zkapex_experiments REUSE_FROM zkapex_learning)
  if(TARGET experiments_test)
    target_precompile_headers(experiments_test REUSE_FROM zkapex_learning)
  endif()
endif()
