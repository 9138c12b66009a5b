// SPDX-License-Identifier: BSD-2-Clause
/* The way from a Store to a communicator. rendezvous.hpp says in which steps. */
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/random.h>
#include "rendezvous.hpp"
#include "settings.hpp"
#include "table.hpp"

namespace canary_torch {

static const char VERDICT[] = "canary/verdict", TROUBLE[] = "canary/trouble";

static std::string entry_key(int rank)
{
	return "canary/rank/" + std::to_string(rank);
}

static void put(const StorePtr &store, const std::string &key, const std::string &text)
{
	store->set(key, std::vector<uint8_t>(text.begin(), text.end()));
}

static std::string take(const StorePtr &store, const std::string &key)
{
	std::vector<uint8_t> value = store->get(key);

	return std::string(value.begin(), value.end());
}

/* People know ranks among all processes. @global: -1: it is not known */
static std::string rank_name(int rank, int64_t global)
{
	return global < 0 ? "rank " + std::to_string(rank) + " of the group" :
			    "rank " + std::to_string(global);
}

std::shared_ptr<Endpoint> announce(const Meeting &meeting)
{
	std::shared_ptr<Endpoint> endpoint;
	Entry entry;

	entry.global = meeting.global;
	try {
		if (!settings_enabled())
			throw std::runtime_error("CANARY_ENABLE says no");
		settings_check();
		if (meeting.size > CANARY_MEMBERS_MAX)
			throw std::runtime_error("too many ranks");
		endpoint = Endpoint::get();
		entry.peer = endpoint->local();
		entry.mtu = endpoint->mtu();
		entry.key = endpoint->key();
	} catch (const std::runtime_error &error) {
		entry.trouble = error.what();
	}
	put(meeting.store, entry_key(meeting.rank), entry_text(entry));
	return endpoint;
}

/* Network order: the first byte of an IPv4 address is that of its text. */
static bool is_loopback(const struct canary_peer &peer)
{
	return ntohl(peer.addr.word[3]) >> 24 == 127;
}

/* All entries are there. Return: what is wrong with that of a rank, by itself or beside others */
static std::string trouble_of(const std::vector<Entry> &entries, int rank)
{
	const Entry &entry = entries.at(rank), &first = entries.at(0);

	if (!entry.trouble.empty())
		return entry.trouble;
	if (entry.key != first.key)
		return !first.key ? "has a key, and rank 0 has none" :
		       !entry.key ? "has no key, as rank 0 has" : "has another key than rank 0";
	if (is_loopback(entry.peer) != is_loopback(first.peer))
		return "is at " + peer_text(entry.peer) + ", and rank 0 at " + peer_text(first.peer) +
		       ": set CANARY_BIND or CANARY_INTERFACES";
	for (int other = 0; other < rank; other++)
		if (!memcmp(&entry.peer, &entries.at(other).peer, sizeof(entry.peer)))
			return "is in the process of " + rank_name(other, entries.at(other).global) +
			       ", at " + peer_text(entry.peer);
	return "";
}

static void draw(void *to, size_t bytes)
{
	if (getrandom(to, bytes, 0) != (ssize_t)bytes)
		throw std::runtime_error("no random numbers");
}

static Verdict decide(const Meeting &meeting, const Endpoint *endpoint)
{
	std::vector<Entry> entries;
	struct canary_params params;
	unsigned int mtu = UINT16_MAX;
	Verdict verdict;

	for (int rank = 0; rank < meeting.size; rank++) {
		Entry entry;

		if (meeting.store->check({ entry_key(rank) }))
			entry = entry_parse(take(meeting.store, entry_key(rank)));
		else
			entry.trouble = "has no Canary";
		mtu = std::min(mtu, entry.mtu);
		entries.push_back(entry);
		verdict.global.push_back(entry.global);
		verdict.peer.push_back(entry.peer);
	}
	for (int rank = 0; rank < meeting.size; rank++) {
		std::string trouble = trouble_of(entries, rank);

		if (!trouble.empty()) {
			verdict.trouble = rank_name(rank, entries.at(rank).global) + ": " + trouble;
			return verdict;
		}
	}
	/* The entry of rank 0 is good, so it has an endpoint. */
	params = endpoint->params();
	verdict.mtu = mtu;
	verdict.window = params.window;
	verdict.algorithm = params.algorithm;
	verdict.comm = settings_comm();
	verdict.how = settings_how();
	verdict.trial = settings_trial();
	draw(verdict.salt, sizeof(verdict.salt));
	do
		draw(&verdict.epoch, sizeof(verdict.epoch));
	while (!verdict.epoch);
	return verdict;
}

/* Rank 0 always writes a verdict, as the others wait for it. */
static Verdict verdict_of(const Meeting &meeting, const Endpoint *endpoint)
{
	Verdict verdict;

	if (meeting.rank) {
		if (!meeting.store->check({ entry_key(0) })) {
			verdict.trouble = rank_name(0, -1) + ": has no Canary";
			return verdict;
		}
		return verdict_parse(take(meeting.store, VERDICT), meeting.size);
	}
	try {
		verdict = decide(meeting, endpoint);
	} catch (const std::runtime_error &error) {
		verdict.trouble = rank_name(0, meeting.global) + ": " + error.what();
	}
	put(meeting.store, VERDICT, verdict_text(verdict));
	return verdict;
}

/* The first packets did not arrive in time. */
static std::string silent(const Verdict &verdict, struct canary *comm)
{
	uint16_t rank;

	return "packets do not arrive" +
	       (canary_missing(comm, &rank, 1) ? " from " + rank_name(rank, verdict.global.at(rank)) :
						   "") +
	       ": is UDP to ports from " + std::to_string(CANARY_PORT_BASE) + " on let through?";
}

/*
 * Return: a formed member, after packets of all ranks have arrived; NULL: another rank gave up, and
 * says why. Throws a sentence.
 */
static struct canary *open_member(const Meeting &meeting, const Endpoint &endpoint,
				  const Verdict &verdict)
{
	struct canary_params params = endpoint.params();
	struct canary_table table = {};
	struct canary_call barrier = {};
	struct canary *comm;
	uint64_t request;
	int err;

	params.comm = verdict.comm;
	params.rank = meeting.rank;
	params.members = meeting.size;
	params.mtu = verdict.mtu;
	params.window = verdict.window;
	params.algorithm = verdict.algorithm;
	table.epoch = verdict.epoch;
	table.peer = verdict.peer.data();
	memcpy(table.salt, verdict.salt, sizeof(table.salt));
	barrier.dtype = CANARY_INT32;
	barrier.op = CANARY_OP_SUM;
	if (canary_open(&params, &comm))
		throw std::runtime_error(canary_errmsg());
	err = canary_form(comm, &table);
	if (!err)
		err = canary_post_call(comm, &barrier, sizeof(barrier), &request);
	if (!err)
		err = canary_wait(comm, request, verdict.trial);
	if (err) {
		std::string why = err == -ETIMEDOUT ? silent(verdict, comm) : canary_errmsg();

		canary_close(comm);
		if (err == -ECONNRESET)
			return nullptr;
		throw std::runtime_error(why);
	}
	return comm;
}

/* Return: has every rank a member? By the Gloo group, since that works in any case. */
static bool all_have(const BasePtr &gloo, bool have)
{
	Tensors least = { at::full({ 1 }, have ? 1 : 0, at::kInt) };
	c10d::AllreduceOptions options;

	options.reduceOp = c10d::ReduceOp::MIN;
	gloo->allreduce(least, options)->wait();
	return least[0].item<int>() == 1;
}

static std::vector<std::string> names_of(const Verdict &verdict)
{
	std::vector<std::string> names;

	for (size_t rank = 0; rank < verdict.peer.size(); rank++)
		names.push_back(rank_name(rank, verdict.global.at(rank)) + " (" +
				peer_text(verdict.peer.at(rank)) + ")");
	return names;
}

Formed form(const Meeting &meeting, std::shared_ptr<Endpoint> endpoint, const BasePtr &gloo)
{
	Verdict verdict = verdict_of(meeting, endpoint.get());
	struct canary *comm = nullptr;
	Formed formed;

	formed.why = plain(verdict.trouble);
	formed.how = verdict.how;
	if (!formed.why.empty())
		return formed;
	try {
		comm = open_member(meeting, *endpoint, verdict);
	} catch (const std::runtime_error &error) {
		formed.why = rank_name(meeting.rank, meeting.global) + ": " + error.what();
		put(meeting.store, TROUBLE, formed.why);
	}
	if (!all_have(gloo, comm != nullptr)) {
		canary_close(comm);
		/* Each rank that knows a trouble has written it. All read the last one. */
		formed.why = meeting.store->check({ TROUBLE }) ?
			     plain(take(meeting.store, TROUBLE)) : "a rank gave up";
		return formed;
	}
	formed.communicator.reset(new Communicator(std::move(endpoint), comm, names_of(verdict)));
	return formed;
}

} // namespace canary_torch
