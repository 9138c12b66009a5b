# SPDX-License-Identifier: BSD-2-Clause
# What many tests share is compiled once for each sanitizer: build/SANITIZER/FILE.o.
# A test whose flags change the shared files too compiles them itself.

SANITIZE ?= -fsanitize=address,undefined -fno-sanitize-recover=undefined
TEST_FLAGS := -O1 -Wno-missing-field-initializers
FUZZ_FLAGS := -Wno-gnu-empty-initializer -fsanitize=address,undefined -fno-sanitize-recover=undefined

# Vector code takes 5 s to compile, and 50 s with all sanitizers. One set of objects has that of
# addresses. All other tests link those of the library.
VECTOR_SRC := $(patsubst %,kmod/core/float_%.c,avx2 avx512 neon)
VECTOR_OBJ := $(VECTOR_SRC:%.c=$(B)/%.o)
$(VECTOR_SRC:%.c=$(B)/sanitized/%.o): private SANITIZE := $(if $(SANITIZE),-fsanitize=address)

# sanitized FILE.c...: their objects with the address sanitizer; threaded: with that of threads;
# fuzzed: with that of addresses, and counted for libFuzzer
sanitized = $(1:%.c=$(B)/sanitized/%.o)
threaded = $(1:%.c=$(B)/threaded/%.o)
fuzzed = $(1:%.c=$(B)/fuzzed/%.o)

.PRECIOUS: $(B)/sanitized/%.o $(B)/threaded/%.o $(B)/fuzzed/%.o

$(B)/sanitized/%.o: %.c | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(SANITIZE) $(DEPFLAGS) -c $< -o $@

$(B)/threaded/%.o: %.c | $(B)/.setup
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) -fsanitize=thread $(DEPFLAGS) -c $< -o $@

$(B)/fuzzed/%.o: %.c | $(B)/.setup
	@mkdir -p $(@D)
	$(CLANG) $(CPPFLAGS) $(CFLAGS) $(TEST_FLAGS) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link $(DEPFLAGS) -c $< -o $@
