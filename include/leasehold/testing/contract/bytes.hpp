// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/testing/contract/bench.hpp>

/// Payloads, results, checkpoints and receipts: kept exactly, and touched by what names them alone.
namespace leasehold::inline v0_1_0::testing::detail {

inline std::string all_bytes() {
    std::string all;
    for (int i = 0; i < 256; ++i) {
        all += static_cast<char>(i);
    }
    return all;
}

/// Equal or not: of large ones nobody wants to see more.
inline void check_bytes(checker& check, std::string_view seen, std::string_view wanted,
                        code_line where = code_line::current()) {
    check.equal(seen.size(), wanted.size(), where);
    check.that(seen == wanted, "the same bytes", where);
}

template <class Store>
void add_byte_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("bytes come back exactly, whatever they are", [](in with, checker& check) {
        queue_in q{with};
        const std::string large(std::size_t{16} << 20U, '\xEE');
        for (const std::string& bytes : {std::string{}, std::string(1, '\0'), std::string{"a\0b\0", 4},
                                         std::string{"\xff\xfe\xc0\x80"}, all_bytes(), large}) {
            q.add({.payload = bytes});
            const lease held = q.taken();
            check_bytes(check, held.payload, bytes);
            check.applied(q.queue.checkpoint(held, bytes));
            check.applied(q.queue.release(held));
            const lease again = q.taken();
            check_bytes(check, again.checkpoint, bytes);
            check.applied(q.queue.finish(again, bytes));
            const record row = q.row(held.id);
            check_bytes(check, row.payload, bytes);
            check_bytes(check, row.result, bytes);
            check_bytes(check, row.checkpoint, bytes);
            check.equal(row.payload_size, bytes.size());
            const page<record> page = q.queue.list({.after = job_id{held.id.value - 1}});
            const record& listed = page.items.at(0);
            check.equal(listed.payload_size, bytes.size());
            check.equal(listed.result_size, bytes.size());
            check.equal(listed.checkpoint_size, bytes.size());
            check.nothing(listed.payload);
        }
    });

    to.add("the bytes of several rows come in the order asked for", [](in with, checker& check) {
        queue_in q{with};
        const std::vector<std::string> payloads{"one", "", std::string{"t\0o", 3},
                                                std::string(std::size_t{1} << 20U, 'x')};
        std::vector<job_id> ids;
        for (const std::string& payload : payloads) {
            ids.push_back(q.add({.payload = payload}));
        }
        q.write([&](auto& transaction) {
            const std::vector<std::size_t> order{3, 0, 2, 1};
            const auto asked = each_of(order, [&](std::size_t i) { return granted_row{ids[i], i % 2 == 0}; });
            const std::vector<row_bytes> seen = check.exactly(4, transaction.bytes(asked));
            for (std::size_t i = 0; i < order.size(); ++i) {
                check_bytes(check, seen[i].payload, payloads[order[i]]);
            }
        });
    });

    to.add("bytes that are not named stay, and empty ones mean none", [](in with, checker& check) {
        queue_in q{with};
        const job_id id = q.add({.payload = "payload"});
        row there = q.row(id);
        const auto write = [&](const change& what) {
            q.write([&](auto& transaction) { transaction.write(std::span{&what, 1}); });
            const record seen = q.row(id);
            check.equal(seen.payload, "payload");
            check.equal(static_cast<const row&>(seen), there);
            return seen.result + "/" + seen.checkpoint;
        };
        check.equal(write({&there, "result", "checkpoint"}), "result/checkpoint");
        there.attempt = 1;
        check.equal(write({&there}), "result/checkpoint");
        check.equal(write({&there, "", {}}), "/checkpoint");
        check.equal(write({&there, std::string_view{"r\0s", 3}, ""}), std::string{"r\0s/", 4});
        check.equal(write({&there, {}, "\xff"}), std::string{"r\0s/\xff", 5});
    });
}

template <class Store>
void add_receipt_row_cases(case_list<Store> to) {
    to.add("receipts come oldest first, as they were left, with the row that they are of",
           [](const bench<Store>& with, checker& check) {
               queue_in q{with};
               const std::vector<job_id> ids = q.add_many({{.payload = "a"}, {.payload = "b"}});
               const std::vector<receipt> left{
                   {{2}, "B", instant::max(), "newer round first"},
                   {{1}, "A", instant::min(), ""},
                   {{std::numeric_limits<std::int64_t>::max()}, std::string(255, 'o'), at(-1), std::string(4096, 'n')},
                   {{1}, "A", instant::min(), ""}};
               const receipt other{{1}, "C", at(5), "of the other"};
               q.write([&](auto& transaction) {
                   for (const receipt& each : left) {
                       transaction.add_receipt(ids.at(0), each);
                       transaction.add_receipt(ids.at(1), other);
                   }
                   const std::vector<granted_row> asked{{ids.at(1), false}, {ids.at(0), false}};
                   const std::vector<row_bytes> seen = check.exactly(2, transaction.bytes(asked));
                   check.equal(seen[0].receipts, std::vector<receipt>(left.size(), other));
                   check.equal(seen[1].receipts, left);
               });
               check.equal(q.row(ids.at(0)).receipts, left);
               check.equal(q.rows().at(0).receipts, left);
           });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
