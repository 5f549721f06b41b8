/* Compare two blocks of a table, and prove the rows of a change table.

   The rows of a block have strictly ascending numbers, so each row finds the row of the other block with its key by a binary
   search. `unsorted` is set if the numbers do not ascend. */

#include "gpu/device.cuh"

struct Values {
    const void* words;
    const uint8_t* valid;  // bits, or null if no value is
    int64_t first;         // the bit of the first row
};

/* A column of the old and the new block, and what a change table shows of both. */
struct Column {
    int64_t width;  // bytes of a value
    Values old, now, shown_old, shown_new;
};

struct Numbers {
    const int64_t* of_rows;
    int64_t count;

    /* The row with this number; -1 if there is none. */
    __device__ __forceinline__ int64_t row(int64_t number) const {
        const int64_t place = find(of_rows, (int64_t)0, count, number);
        return place < count ? place : -1;
    }

    __device__ __forceinline__ bool ascends_at(int64_t row) const { return row == 0 || of_rows[row - 1] < of_rows[row]; }
};

__device__ __forceinline__ bool is_valid(const Values& values, int64_t row) {
    const int64_t bit = values.first + row;
    return !values.valid || (values.valid[bit >> 3] >> (bit & 7) & 1);
}

template <typename Word>
__device__ __forceinline__ bool same_words(const Values& one, int64_t row, const Values& other, int64_t row_of_other) {
    return ((const Word*)one.words)[row] == ((const Word*)other.words)[row_of_other];
}

/* Whether two values have the same bits, or both are null. */
__device__ __forceinline__ bool same(int64_t width, const Values& one, int64_t row, const Values& other, int64_t row_of_other) {
    const bool valid = is_valid(one, row);
    if (valid != is_valid(other, row_of_other)) {
        return false;
    }
    if (!valid) {
        return true;
    }
    switch (width) {
        case 1: return same_words<uint8_t>(one, row, other, row_of_other);
        case 2: return same_words<uint16_t>(one, row, other, row_of_other);
        case 4: return same_words<uint32_t>(one, row, other, row_of_other);
        default: return same_words<uint64_t>(one, row, other, row_of_other);
    }
}

/* For each row of the new block the row of the old one with its key, or -1; in `differs` a bit for each column whose value
   differs, and the highest bit if the row was added; in `removed` the rows of the old block that the new one lacks. */
extern "C" __global__ void find_differences(
    const int64_t* old_numbers, int64_t num_old, const int64_t* new_numbers, int64_t num_new, const Column* columns,
    int32_t num_columns, int32_t* source, uint32_t* differs, uint8_t* removed, uint32_t* unsorted) {
    const Numbers old = {old_numbers, num_old}, now = {new_numbers, num_new};
    for (int64_t i = global_thread(); i < num_new; i += num_threads()) {
        if (!now.ascends_at(i)) {
            *unsorted = 1;
        }
        const int64_t row = old.row(new_numbers[i]);
        uint32_t found = row < 0 ? 0x80000000u : 0;
        for (int32_t c = 0; c < num_columns && row >= 0; ++c) {
            found |= (uint32_t)!same(columns[c].width, columns[c].old, row, columns[c].now, i) << c;
        }
        source[i] = (int32_t)row;
        differs[i] = found;
    }
    for (int64_t i = global_thread(); i < num_old; i += num_threads()) {
        if (!old.ascends_at(i)) {
            *unsorted = 1;
        }
        removed[i] = now.row(old_numbers[i]) < 0;
    }
}

/* Whether a row of a change table shows the row of a block with this number, which then gets the mark; if `lacks`, it must show
   nothing. */
__device__ __forceinline__ bool shows(
    const Numbers& block, int64_t number, bool lacks, int64_t shown_row, const Column* columns, int32_t num_columns,
    Values Column::*shown, Values Column::*values, uint8_t* marks, uint8_t mark) {
    const int64_t row = lacks ? -1 : block.row(number);
    if (!lacks && row < 0) {
        return false;
    }
    bool right = true;
    for (int32_t c = 0; c < num_columns; ++c) {
        const Column& column = columns[c];
        right &= lacks ? !is_valid(column.*shown, shown_row) : same(column.width, column.*shown, shown_row, column.*values, row);
    }
    if (!lacks) {
        marks[row] = mark;
    }
    return right;
}

/* Check each row of a change table against both blocks, and mark the rows of the blocks with 1 + the kind of the change. */
extern "C" __global__ void mark_rows(
    const int64_t* numbers, int64_t count, const signed char* kinds, const int64_t* old_numbers, int64_t num_old,
    const int64_t* new_numbers, int64_t num_new, const Column* columns, int32_t num_columns, uint8_t* old_marks,
    uint8_t* new_marks, uint32_t* wrong) {
    const Numbers rows = {numbers, count}, old = {old_numbers, num_old}, now = {new_numbers, num_new};
    for (int64_t i = global_thread(); i < count; i += num_threads()) {
        const int kind = kinds[i];
        bool right = rows.ascends_at(i) && kind >= ADDED && kind <= CHANGED;
        right &= shows(
            old, numbers[i], kind == ADDED, i, columns, num_columns, &Column::shown_old, &Column::old, old_marks, 1 + kind);
        right &= shows(
            now, numbers[i], kind == REMOVED, i, columns, num_columns, &Column::shown_new, &Column::now, new_marks, 1 + kind);
        if (!right) {
            *wrong = 1;
        }
    }
}

/* Check that the rows without a mark are the same in both blocks. `excess` gets the number of rows of the old block that were
   not removed, less that of the rows of the new block that were not added; of these each has another row of the old block. */
extern "C" __global__ void compare_others(
    const int64_t* old_numbers, int64_t num_old, const int64_t* new_numbers, int64_t num_new, const Column* columns,
    int32_t num_columns, const uint8_t* old_marks, const uint8_t* new_marks, uint64_t* excess, uint32_t* wrong,
    uint32_t* unsorted) {
    const Numbers old = {old_numbers, num_old}, now = {new_numbers, num_new};
    int64_t more = 0;
    bool right = true, sorted = true;
    for (int64_t i = global_thread(); i < num_new; i += num_threads()) {
        sorted &= now.ascends_at(i);
        const int mark = new_marks[i];
        if (mark == 1 + ADDED) {
            continue;
        }
        --more;
        const int64_t row = old.row(new_numbers[i]);
        right &= row >= 0 && old_marks[row] == mark;
        for (int32_t c = 0; c < num_columns && row >= 0 && mark == 0; ++c) {
            right &= same(columns[c].width, columns[c].old, row, columns[c].now, i);
        }
    }
    for (int64_t i = global_thread(); i < num_old; i += num_threads()) {
        sorted &= old.ascends_at(i);
        more += old_marks[i] != 1 + REMOVED;
    }
    if (!right) {
        *wrong = 1;
    }
    if (!sorted) {
        *unsorted = 1;
    }
    if (more) {
        atomicAdd((unsigned long long*)excess, (unsigned long long)more);
    }
}
