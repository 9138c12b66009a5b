// SPDX-License-Identifier: BSD-2-Clause
/* The library's SipHash-2-4 compared with the reference vectors of its authors */
#include <string.h>

#include "core/platform.h"
#include "selftests/tap.h"

/* Key 00 01 .. 0f; the input is the first i of the bytes 00 01 .. 3e. */
static const u64 vectors[64] = {
	0x726fdb47dd0e0e31ULL, 0x74f839c593dc67fdULL, 0x0d6c8009d9a94f5aULL,
	0x85676696d7fb7e2dULL, 0xcf2794e0277187b7ULL, 0x18765564cd99a68dULL,
	0xcbc9466e58fee3ceULL, 0xab0200f58b01d137ULL, 0x93f5f5799a932462ULL,
	0x9e0082df0ba9e4b0ULL, 0x7a5dbbc594ddb9f3ULL, 0xf4b32f46226bada7ULL,
	0x751e8fbc860ee5fbULL, 0x14ea5627c0843d90ULL, 0xf723ca908e7af2eeULL,
	0xa129ca6149be45e5ULL, 0x3f2acc7f57c29bdbULL, 0x699ae9f52cbe4794ULL,
	0x4bc1b3f0968dd39cULL, 0xbb6dc91da77961bdULL, 0xbed65cf21aa2ee98ULL,
	0xd0f2cbb02e3b67c7ULL, 0x93536795e3a33e88ULL, 0xa80c038ccd5ccec8ULL,
	0xb8ad50c6f649af94ULL, 0xbce192de8a85b8eaULL, 0x17d835b85bbb15f3ULL,
	0x2f2e6163076bcfadULL, 0xde4daaaca71dc9a5ULL, 0xa6a2506687956571ULL,
	0xad87a3535c49ef28ULL, 0x32d892fad841c342ULL, 0x7127512f72f27cceULL,
	0xa7f32346f95978e3ULL, 0x12e0b01abb051238ULL, 0x15e034d40fa197aeULL,
	0x314dffbe0815a3b4ULL, 0x027990f029623981ULL, 0xcadcd4e59ef40c4dULL,
	0x9abfd8766a33735cULL, 0x0e3ea96b5304a7d0ULL, 0xad0c42d6fc585992ULL,
	0x187306c89bc215a9ULL, 0xd4a60abcf3792b95ULL, 0xf935451de4f21df2ULL,
	0xa9538f0419755787ULL, 0xdb9acddff56ca510ULL, 0xd06c98cd5c0975ebULL,
	0xe612a3cb9ecba951ULL, 0xc766e62cfcadaf96ULL, 0xee64435a9752fe72ULL,
	0xa192d576b245165aULL, 0x0a8787bf8ecb74b2ULL, 0x81b3e73d20b49b6fULL,
	0x7fa8220ba3b2eceaULL, 0x245731c13ca42499ULL, 0xb78dbfaf3a8d83bdULL,
	0xea1ad565322a1a0bULL, 0x60e61c23a3795013ULL, 0x6606d7e446282b93ULL,
	0x6ca4ecb15c5f91e1ULL, 0x9f626da15c9625f3ULL, 0xe51b38608ef25f57ULL,
	0x958a324ceb064572ULL
};

/* Compares sums over numbered inputs with the sums of single hashes. */
static int numbered_wrong(const u8 key[16])
{
	static const u32 range[][2] = {
		{ 0, 0 }, { 0, 1 }, { 7, 8 }, { 0, 8 }, { 1, 9 }, { 250, 263 }, { 3, 1000 },
		{ 65530, 65536 },
	};
	u8 in[16], n;
	int bad = 0;
	u64 sum;
	u32 i;

	for (i = 0; i < 16; i++)
		in[i] = 0xf0 + i;
	for (n = 0; n < sizeof(range) / sizeof(*range); n++) {
		for (sum = 0, i = range[n][0]; i < range[n][1]; i++) {
			in[14] = i >> 8;
			in[15] = i;
			sum += cnr_siphash(key, in, sizeof(in));
		}
		bad += cnr_siphash_numbered(key, in, range[n][0], range[n][1]) != sum;
	}
	return bad;
}

int main(void)
{
	u8 key[16], in[64 + 8];
	int i, shift, bad;

	for (i = 0; i < 16; i++)
		key[i] = i;
	for (shift = 0; shift < 8; shift++) {
		for (i = 0; i < 64; i++)
			in[shift + i] = i;
		for (i = 0, bad = 0; i < 64; i++)
			bad += cnr_siphash(key, in + shift, i) != vectors[i];
		tap(!bad, "64 vectors, input %d bytes off alignment (%d wrong)", shift, bad);
	}
	tap(!numbered_wrong(key), "sums over numbered inputs are those of single ones");
	return tap_done("user/siphash");
}
