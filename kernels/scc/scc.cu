/* Strong components. Returns for every row the row of smallest external id in its component.

   Method: rows without in-arcs or without out-arcs are components of their own. From the row with the largest product of degrees
   two searches, forward and backward, advance level by level together; the rows that both reach are one component, the giant
   component (Fleischer, Hendrickson, Pinar: On Identifying Strongly Connected Components in Parallel, IPDPS workshops 2000;
   McLendon et al. 2005). A level pushes a queue of ranges of arcs or, if the queue is long, every open row searches its arcs for
   a reached neighbour. The rest is solved as in ECL-SCC (Alabandi, Sands, Biros, Burtscher, SC 2023): the arcs between rows that
   were reached by the same searches are listed; along them every row receives the least signature of the rows that reach it and
   of those that it reaches; arcs between rows of different signatures are dropped, and rows whose two signatures are equal are a
   component; repeat. Deep searches, whose levels are small, are given up, and signatures, which jump, find all components.

   Encodings: bit r & 31 of word r >> 5 of a bitmap is row r; `open` are the rows with both in-arcs and out-arcs, `fore` and
   `back` those that the searches reached. A range of arcs is (backward << 63 | first arc << 8 | length). A signature is a
   scrambled row, so that no order of the rows is a bad case. `labels` holds a row of the component until the last phase, `names`
   the smallest position of its rows. */
#include "scc/listing.cuh"
#include "scc/search.cuh"
#include "scc/signatures.cuh"
#include "gpu/union_find.cuh"

// spills: two registers on sm_86 and sm_89; two blocks per multiprocessor are faster
extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) == 4 ? 2 : 1) find_components(
    const int64_t* out_offsets, const ROW* out_indices, const int64_t* in_offsets, const ROW* in_indices, const ROW* positions,
    const ROW* rows_by_id, int64_t num_rows, int64_t num_words, uint32_t* open, uint32_t* fore, uint32_t* back,
    uint32_t* new_fore, uint32_t* new_back, uint64_t* queue, Arc* list, Signature* signatures, ROW* names, ROW* labels,
    int64_t most_thin, Control* control) {
    const Search search{{out_offsets, out_indices}, {in_offsets, in_indices}, num_rows, num_words, open, fore, back, new_fore,
                        new_back, queue};
    Summing sums{control, 0};
    prepare(search, positions, labels, names, control);
    sums.close();
    if (blockIdx.x == 0) {
        start_search(search, control, sums.count());
    }
    const uint64_t queued = sums.close();
    const bool searched = search_both_ways(search, sums, queued);
    leave_rest(search, searched && queued > 0, (ROW)__ldcg(&control->best[0].row), labels);
    sums.close();
    list_arcs(search, list, sums.count());
    const uint64_t listed = sums.close();
    if (!solve_rest(list, listed, signatures, labels, most_thin, sums)) {
        control->deep = 1;
        return;
    }
    name_trees(labels, names, positions, num_rows);
    sums.close();
    label_rows(labels, names, positions, rows_by_id, num_rows);
}
