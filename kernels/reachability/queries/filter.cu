/* Answers to the queries that the records of two nodes decide, and a list of the other queries.

   ROW is the type of a row and of a node. */
#include "reachability/queries/records.cuh"

extern "C" __global__ void pack_records(
    const int32_t* level, const int32_t* height, const ROW* low, const ROW* post, const ROW* first, const ROW* last,
    const uint64_t* reaches, const uint64_t* reached, int64_t num_nodes, int dimensions, bool alternating, Record* records) {
    for (int64_t node = global_thread(); node < num_nodes; node += num_threads()) {
        Record record;
        record.spans.level = level[node];
        record.spans.height = height[node];
#pragma unroll
        for (int i = 0; i < RECORD_DIMENSIONS; ++i) {
            const ROW sign = alternating && i % 2 ? -1 : 1;
            record.spans.low[i] = i < dimensions ? sign * low[i * num_nodes + node] : 0;
            record.spans.post[i] = i < dimensions ? sign * post[i * num_nodes + node] : 0;
        }
        record.cuts = Cuts{first[node], last[node], reaches[node], reached[node]};
        records[node] = record;
    }
}

/* Writes the undecided queries to `left`, in any order, their number to `control` [0], and the first query with an entry that is
   not a row to `control` [1]. Before, `control` must be zero and the number of queries. */
extern "C" __global__ void filter_queries(
    const Record* records, int64_t num_nodes, int dimensions, bool alternating, const ROW* low, const ROW* post, const ROW* nodes,
    int64_t num_rows, const ROW* src, const ROW* dst, int64_t num_queries, bool* reachable, unsigned char* decided,
    uint32_t* left, uint64_t* control) {
    const Index index{records, num_nodes, dimensions, alternating, low, post};
    for (int64_t query = global_thread(); query < num_queries; query += num_threads()) {
        const int64_t from_row = src[query], to_row = dst[query];
        if ((uint64_t)from_row >= (uint64_t)num_rows || (uint64_t)to_row >= (uint64_t)num_rows) {
            atomicMin(control + 1, (uint64_t)query);
            continue;
        }
        const ROW from = nodes[from_row], to = nodes[to_row];
        Decision decision = Same;
        if (from != to) {
            const Spans of_from = load_whole(&records[from].spans), of_to = load_whole(&records[to].spans);
            decision = Filter;
            if (!is_filtered(of_from, of_to)) {
                decision = decide_by_cuts(load_whole(&records[from].cuts), load_whole(&records[to].cuts));
                if (decision != Filter && dimensions > RECORD_DIMENSIONS && is_filtered_further(index, from, to)) {
                    decision = Filter;
                }
            }
        }
        reachable[query] = decision == Same || decision == PositiveCut;
        decided[query] = decision;
        if (decision == Undecided) {
            left[append(control)] = (uint32_t)query;
        }
    }
}
