#include "reference/workloads.h"

static const char small_batch[] =
    "assumed: 16 sequences of 1024 tokens per rank and optimizer step, no accumulation";
static const char middle_batch[] =
    "assumed: 4 sequences of 1024 tokens per rank and optimizer step, no accumulation";
static const char one_example[] =
    "assumed: one instruction example of 256 tokens per rank and optimizer step, micro-batch 1, no "
    "accumulation: what memory leaves room for";

static const struct cb_workload_row rows[] = {
    {"125M full fine-tune", 125e6, 16384, small_batch},
    {"1.3B full fine-tune", 1.3e9, 4096, middle_batch},
    {"7B full fine-tune", 7e9, 256, one_example},
    {"13B full fine-tune", 13e9, 256, one_example},
    {"70B full fine-tune", 70e9, 256, one_example},
};

enum { DEFAULT_ROW = 2 };

const struct cb_workload_row *cb_workloads(size_t *count)
{
    *count = sizeof(rows) / sizeof(rows[0]);
    return rows;
}

const struct cb_workload_row *cb_workload_default(void)
{
    return &rows[DEFAULT_ROW];
}
