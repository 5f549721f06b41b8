/* Strong components. Returns for every row the row of smallest external id in its component.

   Method: rows without in-arcs or without out-arcs are components of their own. From the row of the largest product of degrees
   two searches, forward and backward, run in the same levels; what both reach is one component, the giant (Fleischer,
   Hendrickson, Pinar: On Identifying Strongly Connected Components in Parallel, IPDPS workshops 2000; McLendon et al. 2005). They
   are unordered: a level pushes a queue of arc ranges, or, where that is long, every open row looks for a reached neighbour. The
   rest is solved as in ECL-SCC (Alabandi, Sands, Biros, Burtscher, SC 2023): the arcs between rows that the searches left alike
   are listed, along them every row learns the least signature of the rows that reach it and of those it reaches, an arc
   between rows of unlike signatures is dropped, and rows whose two signatures are equal are a component; repeat. Deep searches,
   where a level pays little, are given up, and all is left to the signatures, which jump.

   Encodings: bit r & 31 of word r >> 5 of a bitmap is row r; `open` are the rows with arcs both ways, `fore` and `back` those of
   them that the searches reached. A range of arcs is (backward << 63 | first arc << 8 | length). A signature is a row,
   scrambled, so that no order of the rows is a bad one. `labels` holds a row of the component until the last phase, `names` the
   smallest rank of its rows. */
#include "scc/listing.cuh"
#include "scc/search.cuh"
#include "scc/signatures.cuh"
#include "gpu/union_find.cuh"

extern "C" __global__ void __launch_bounds__(THREADS, sizeof(ROW) == 4 ? 2 : 1) find_components(
    const int64_t* out_offsets, const ROW* out_indices, const int64_t* in_offsets, const ROW* in_indices, const ROW* ranks,
    const ROW* rows_by_id, int64_t num_rows, int64_t num_words, uint32_t* open, uint32_t* fore, uint32_t* back,
    uint32_t* new_fore, uint32_t* new_back, uint64_t* queue, Arc* list, Signature* signatures, ROW* names, ROW* labels,
    Control* control) {
    const Search search{{out_offsets, out_indices}, {in_offsets, in_indices}, num_rows, num_words, open, fore, back, new_fore,
                        new_back, queue};
    Turns turns{control, 0};
    prepare(search, ranks, labels, names, control);
    turns.close();
    if (blockIdx.x == 0) {
        start_search(search, control, turns.count());
    }
    const uint64_t queued = turns.close();
    const bool searched = search_both_ways(search, turns, queued);
    leave_rest(search, searched && queued > 0, (ROW)__ldcg(&control->best[0].row), labels);
    turns.close();
    list_arcs(search, list, turns.count());
    const uint64_t listed = turns.close();
    solve_rest(list, listed, signatures, labels, turns);
    name_trees(labels, names, ranks, num_rows);
    turns.close();
    label_rows(labels, names, ranks, rows_by_id, num_rows);
}
