// SPDX-License-Identifier: BSD-2-Clause
/* Entries and verdicts as text. */
#include <arpa/inet.h>
#include <iomanip>
#include <sstream>
#include "table.hpp"

namespace canary_torch {

static const unsigned int FORMAT = 2;
static const size_t LINE_MOST = 300;

std::string plain(const std::string &text)
{
	std::string line = text.substr(0, LINE_MOST);

	for (char &c : line)
		if (c < ' ' || c > '~')
			c = '?';
	return line;
}

/* The first line of both. Members of another version are not understood. */
static std::string head()
{
	return "canary " + std::to_string(FORMAT) + " " + std::to_string(CANARY_VERSION) + "\n";
}

/* Take the first line off @in. Return: what is wrong with it, or nothing */
static std::string take_head(std::istream &in)
{
	std::string line;

	std::getline(in, line);
	return line + "\n" == head() ? "" : "another version of Canary or of its PyTorch module";
}

/* "no WHY" takes the place of all that follows otherwise. */
static std::string take_trouble(std::istream &in, const char *first)
{
	std::string word, rest;

	in >> word;
	if (word == first)
		return "";
	std::getline(in >> std::ws, rest);
	return word == "no" && !rest.empty() ? plain(rest) : "not understood";
}

static void put_peer(std::ostream &out, const struct canary_peer &peer)
{
	for (unsigned int word : peer.addr.word)
		out << ntohl(word) << " ";
	out << ntohs(peer.port);
}

static struct canary_peer take_peer(std::istream &in)
{
	struct canary_peer peer = {};
	uint32_t word;
	uint16_t port = 0;

	for (auto &part : peer.addr.word) {
		in >> word;
		part = htonl(word);
	}
	in >> port;
	peer.port = htons(port);
	return peer;
}

std::string entry_text(const Entry &entry)
{
	std::ostringstream out;

	out << head() << entry.global << " ";
	if (!entry.trouble.empty()) {
		out << "no " << plain(entry.trouble) << "\n";
		return out.str();
	}
	out << "at ";
	put_peer(out, entry.peer);
	out << " " << entry.mtu << " " << entry.key << "\n";
	return out.str();
}

Entry entry_parse(const std::string &text)
{
	std::istringstream in(text);
	Entry entry;

	entry.trouble = take_head(in);
	if (!entry.trouble.empty())
		return entry;
	in >> entry.global;
	entry.trouble = take_trouble(in, "at");
	if (!entry.trouble.empty())
		return entry;
	entry.peer = take_peer(in);
	in >> entry.mtu >> entry.key;
	if (!in)
		entry.trouble = "not understood";
	return entry;
}

std::string verdict_text(const Verdict &verdict)
{
	std::ostringstream out;

	out << head();
	if (!verdict.trouble.empty()) {
		out << "no " << plain(verdict.trouble) << "\n";
		return out.str();
	}
	out << "yes " << verdict.comm << " " << verdict.epoch << " " << verdict.how << " "
	    << verdict.mtu << " " << verdict.window << " " << verdict.algorithm << " "
	    << verdict.trial;
	for (unsigned int byte : verdict.salt)
		out << " " << byte;
	out << "\n";
	for (size_t rank = 0; rank < verdict.peer.size(); rank++) {
		out << verdict.global.at(rank) << " ";
		put_peer(out, verdict.peer[rank]);
		out << "\n";
	}
	return out.str();
}

Verdict verdict_parse(const std::string &text, size_t size)
{
	std::istringstream in(text);
	Verdict verdict;
	unsigned int byte = 0;

	verdict.trouble = take_head(in);
	if (verdict.trouble.empty())
		verdict.trouble = take_trouble(in, "yes");
	if (!verdict.trouble.empty())
		return verdict;
	in >> verdict.comm >> verdict.epoch >> verdict.how >> verdict.mtu >> verdict.window >>
		verdict.algorithm >> verdict.trial;
	for (auto &part : verdict.salt) {
		in >> byte;
		part = byte;
	}
	while (in && verdict.peer.size() < size) {
		int64_t global = -1;

		in >> global;
		verdict.global.push_back(global);
		verdict.peer.push_back(take_peer(in));
	}
	if (!in)
		verdict.trouble = "rank 0's table is not understood";
	return verdict;
}

} // namespace canary_torch
