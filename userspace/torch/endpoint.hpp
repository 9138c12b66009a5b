// SPDX-License-Identifier: BSD-2-Clause
/*
 * The UDP port of this process. All its groups share it. A member of one, which is never formed,
 * holds it: so it is known before a group has agreed on anything.
 */
#ifndef CANARY_TORCH_ENDPOINT_HPP
#define CANARY_TORCH_ENDPOINT_HPP

#include <canary.h>
#include <memory>
#include <string>

namespace canary_torch {

/* An address and a port, in words and as libcanary has it */
std::string peer_text(const struct canary_peer &peer);

class Endpoint {
public:
	/*
	 * get() - the endpoint of this process, made if there is none. It lives as long as somebody
	 * has it. Throws std::runtime_error with a sentence if there can be none.
	 */
	static std::shared_ptr<Endpoint> get();

	~Endpoint();

	/* Parameters from the environment, with the port shared. What a group agrees on lacks. */
	struct canary_params params() const;

	struct canary_peer local() const { return local_; }
	const std::string &engine() const { return engine_; }
	unsigned int mtu() const { return mtu_; }	/* of the path to rank 0, as far as known */
	uint64_t key() const;		/* key_check() of the pre-shared key */

private:
	Endpoint();

	int pid_;			/* a child has no threads of its parent */
	struct canary_params given_;
	struct canary *holder_ = nullptr;
	struct canary_peer local_;
	std::string engine_;
	unsigned int mtu_;
};

} // namespace canary_torch

#endif /* CANARY_TORCH_ENDPOINT_HPP */
