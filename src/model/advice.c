#include "model/advice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "model/step.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const char *const kinds[] = {
    [CB_ADVICE_ACCUMULATE] = "accumulate",
    [CB_ADVICE_HALF_GRADIENTS] = "half_gradients",
    [CB_ADVICE_ZERO1] = "zero1",
    [CB_ADVICE_HYBRID] = "hybrid",
    [CB_ADVICE_OVERLAP] = "overlap",
    [CB_ADVICE_LORA] = "lora",
    [CB_ADVICE_LINK] = "link",
};
_Static_assert(ARRAY_SIZE(kinds) == CB_ADVICE_COUNT, "one name per kind");

const char *cb_advice_kind_name(enum cb_advice_kind kind)
{
    return kinds[kind];
}

/* Nobody accumulates more, nor sells a link so much faster. */
#define ACCUMULATION_MAX 1024.0
#define SPEED_MAX 1000.0
/* What torch's DDP hides, and what it can be switched to elsewhere. */
#define OVERLAP_SWITCHED_ON 0.5

/* What the alternatives are held against. */
struct question {
    const struct cb_job *stated; /* as the caller gave it */
    const struct cb_machine *machine;
    enum cb_share share;
    struct cb_training now;
};

static double share_in(const struct cb_training *training, enum cb_share share)
{
    return share == CB_SHARE_SERIAL ? training->serial_share : training->expected.share;
}

/* The model's answer for another job on another network. A stated compute time follows the work. */
static int evaluate(const struct question *question, const struct cb_job *job,
                    const struct cb_network *network, struct cb_training *out, struct cb_error *err)
{
    struct cb_machine machine = *question->machine;
    machine.network = network;
    if (machine.compute_s > 0) {
        struct cb_job complete;
        struct cb_assumptions ignored = {.count = 0};
        int rc =
            cb_job_complete(job, network->nodes * network->gpus_per_node, &complete, &ignored, err);
        if (rc)
            return rc;
        machine.compute_s *= cb_step_gpu_flops(&complete) / cb_step_gpu_flops(&question->now.job);
    }
    return cb_training_weigh(job, &machine, out, err);
}

/* Whether an alternative is worth naming: below the threshold, and into the memory unless the job
 * does not fit either. */
static bool helps(const struct question *question, const struct cb_training *tried)
{
    bool fits = tried->memory.usable_bytes <= 0 || tried->memory.fits || !question->now.memory.fits;
    return fits && share_in(tried, question->share) <= question->now.threshold;
}

static struct cb_advice *add(enum cb_advice_kind kind, double value,
                             const struct cb_training *tried, struct cb_advice_list *list)
{
    struct cb_advice *advice = &list->items[list->count++];
    *advice = (struct cb_advice){
        .kind = kind,
        .value = value,
        .serial_share = tried->serial_share,
        .exposed_share = tried->expected.share,
        .step_s = tried->expected.step_s,
        .fits = tried->memory.usable_bytes <= 0 || tried->memory.fits,
    };
    return advice;
}

/* "41 % falls to 9 %" */
static const char *describe_fall(const struct question *question, const struct cb_training *tried,
                                 char out[2 * CB_UNIT_TEXT + 16])
{
    char before[CB_UNIT_TEXT], after[CB_UNIT_TEXT];
    snprintf(out, 2 * CB_UNIT_TEXT + 16, "%s falls to %s",
             cb_format_share(before, share_in(&question->now, question->share)),
             cb_format_share(after, share_in(tried, question->share)));
    return out;
}

#define FALL_TEXT (2 * CB_UNIT_TEXT + 16)

/* The job with a times as many micro-batches per optimizer step. Of a batch that is fixed, the
 * batch grows. */
static struct cb_job accumulate(const struct question *question, double times)
{
    struct cb_job job = *question->stated;
    if (job.batch_tokens > 0) {
        job.batch_tokens *= times;
        return job;
    }
    job.accumulation = question->now.job.accumulation * times;
    if (job.tokens_per_step > 0)
        job.tokens_per_step *= times;
    return job;
}

static int try_accumulation(const struct question *question, struct cb_advice_list *list,
                            struct cb_error *err)
{
    struct cb_training tried;
    char fall[FALL_TEXT];
    double low = 1, high = 2;
    for (;; high *= 2) {
        struct cb_job job = accumulate(question, high);
        int rc = evaluate(question, &job, question->machine->network, &tried, err);
        if (rc)
            return rc;
        if (helps(question, &tried))
            break;
        if (high >= ACCUMULATION_MAX)
            return 0;
        low = high;
    }
    /* The smallest whole factor between one that does not and one that does. */
    while (high - low > 1) {
        struct cb_training middle;
        double times = floor((low + high) / 2);
        struct cb_job job = accumulate(question, times);
        int rc = evaluate(question, &job, question->machine->network, &middle, err);
        if (rc)
            return rc;
        if (helps(question, &middle)) {
            high = times;
            tried = middle;
        } else {
            low = times;
        }
    }
    struct cb_advice *advice =
        add(CB_ADVICE_ACCUMULATE, question->now.job.accumulation * high, &tried, list);
    snprintf(advice->text, sizeof(advice->text),
             "accumulate %.4g micro-batches per optimizer step instead of %.4g: %s", advice->value,
             question->now.job.accumulation, describe_fall(question, &tried, fall));
    snprintf(advice->caveat, sizeof(advice->caveat),
             "the global batch becomes %g times as large: does it still train as well?", high);
    return 0;
}

/* An alternative that is the same job with some fields set differently. */
struct variant {
    enum cb_advice_kind kind;
    bool (*applies)(const struct question *question, struct cb_job *job); /* and changes it */
    const char *text;
    const char *caveat;
};

static bool use_half_gradients(const struct question *question, struct cb_job *job)
{
    job->gradient_bytes = 2;
    return question->now.job.gradient_bytes > 2;
}

static bool shards_weights(const struct question *question)
{
    enum cb_scheme scheme = question->now.job.scheme;
    return scheme == CB_SCHEME_ZERO3 || scheme == CB_SCHEME_FSDP;
}

static bool use_zero1(const struct question *question, struct cb_job *job)
{
    job->scheme = CB_SCHEME_ZERO1;
    return shards_weights(question) || question->now.job.scheme == CB_SCHEME_ZERO2;
}

static bool use_hybrid(const struct question *question, struct cb_job *job)
{
    job->scheme = CB_SCHEME_HYBRID;
    return shards_weights(question) && question->now.nodes > 1 && question->now.gpus_per_node > 1;
}

static bool use_overlap(const struct question *question, struct cb_job *job)
{
    job->overlap = OVERLAP_SWITCHED_ON;
    job->has_overlap = true;
    return question->share == CB_SHARE_EXPOSED && question->now.job.overlap == 0 &&
           question->now.overlap_source == CB_FROM_ASSUMED;
}

/* Sharded weights would be gathered all the same: adapters are tried with whole ones. */
static bool use_lora(const struct question *question, struct cb_job *job)
{
    bool whole = question->now.job.adapter == CB_ADAPTER_NONE &&
                 question->now.job.trainable_parameters == question->now.job.parameters;
    job->adapter = CB_ADAPTER_LORA;
    job->trainable_parameters = 0;
    if (shards_weights(question))
        job->scheme = CB_SCHEME_DDP;
    return whole && question->now.job.sample_flops == 0;
}

static const struct variant variants[] = {
    {CB_ADVICE_OVERLAP, use_overlap, "switch on overlap (overlap_comm, overlap_grad_reduce)",
     "assumes that half of what can hide does"},
    {CB_ADVICE_HALF_GRADIENTS, use_half_gradients, "reduce gradients in bf16 (2 bytes)",
     "sums in bf16 lose precision over many ranks"},
    {CB_ADVICE_ZERO1, use_zero1, "ZeRO-1 instead of sharded weights", ""},
    {CB_ADVICE_HYBRID, use_hybrid, "hybrid shard: weights sharded inside the node only", ""},
    {CB_ADVICE_LORA, use_lora, "train adapters (LoRA) instead of all weights",
     "another training, not the same one faster"},
};

static int try_variant(const struct question *question, const struct variant *variant,
                       struct cb_advice_list *list, struct cb_error *err)
{
    struct cb_job job = *question->stated;
    struct cb_training tried;
    char fall[FALL_TEXT];
    if (!variant->applies(question, &job))
        return 0;
    int rc = evaluate(question, &job, question->machine->network, &tried, err);
    if (rc || !helps(question, &tried))
        return rc;
    double value = 0;
    if (variant->kind == CB_ADVICE_LORA)
        value = tried.job.adapter_rank;
    else if (variant->kind == CB_ADVICE_OVERLAP)
        value = tried.job.overlap;
    struct cb_advice *advice = add(variant->kind, value, &tried, list);
    snprintf(advice->text, sizeof(advice->text), "%s: %s", variant->text,
             describe_fall(question, &tried, fall));
    snprintf(advice->caveat, sizeof(advice->caveat), "%s", variant->caveat);
    return 0;
}

/* The slowest link, in steps of a percent, with which it would be. */
static int try_link(const struct question *question, struct cb_advice_list *list,
                    struct cb_error *err)
{
    struct cb_training tried;
    struct cb_faster_network faster;
    char fall[FALL_TEXT], rate[CB_UNIT_TEXT];
    double low = 1, high = SPEED_MAX;
    cb_faster_network_init(&faster, question->machine->network, high);
    int rc = evaluate(question, question->stated, &faster.network, &tried, err);
    if (rc || !helps(question, &tried))
        return rc;
    while (high > low * 1.01) {
        struct cb_training middle;
        double speed = sqrt(low * high);
        cb_faster_network_init(&faster, question->machine->network, speed);
        rc = evaluate(question, question->stated, &faster.network, &middle, err);
        if (rc)
            return rc;
        if (helps(question, &middle)) {
            high = speed;
            tried = middle;
        } else {
            low = speed;
        }
    }
    struct cb_advice *advice =
        add(CB_ADVICE_LINK, question->now.large_bytes_per_s * high, &tried, list);
    snprintf(advice->text, sizeof(advice->text),
             "a link that brings %s %s (%.3g times this one): %s",
             cb_format_bandwidth(rate, advice->value),
             question->now.nodes > 1 ? "between nodes" : "between GPUs", high,
             describe_fall(question, &tried, fall));
    snprintf(advice->caveat, sizeof(advice->caveat),
             "bus bandwidth of large messages, as measured, not as advertised");
    return 0;
}

int cb_advise(const struct cb_job *job, const struct cb_machine *machine, enum cb_share share,
              struct cb_advice_list *advice, struct cb_error *err)
{
    struct question question = {.stated = job, .machine = machine, .share = share};
    struct cb_advice_list list = {.count = 0};
    int rc = cb_training_weigh(job, machine, &question.now, err);
    if (rc)
        return rc;
    if (share_in(&question.now, share) > question.now.threshold) {
        rc = try_accumulation(&question, &list, err);
        for (size_t i = 0; i < ARRAY_SIZE(variants) && rc == 0; i++)
            rc = try_variant(&question, &variants[i], &list, err);
        if (rc == 0)
            rc = try_link(&question, &list, err);
    }
    if (rc == 0)
        *advice = list;
    return rc;
}
