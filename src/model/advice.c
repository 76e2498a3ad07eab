#include "model/advice.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "model/step.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

static const char *const kinds[] = {
    [CB_ADVICE_ACCUMULATE] = "accumulate", [CB_ADVICE_HALF_GRADIENTS] = "half_gradients",
    [CB_ADVICE_ZERO1] = "zero1",           [CB_ADVICE_HYBRID] = "hybrid",
    [CB_ADVICE_OVERLAP] = "overlap",       [CB_ADVICE_LORA] = "lora",
    [CB_ADVICE_QLORA] = "qlora",           [CB_ADVICE_LINK] = "link",
};
_Static_assert(ARRAY_SIZE(kinds) == CB_ADVICE_COUNT, "one name per kind");

const char *cb_advice_kind_name(enum cb_advice_kind kind)
{
    return kinds[kind];
}

/* Nobody multiplies the batch by more, nor sells a link so much faster. */
#define ACCUMULATION_MAX 64.0
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
        machine.compute_s *= cb_job_gpu_flops(&complete) / cb_job_gpu_flops(&question->now.job);
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

/* The job with times as many micro-batches per optimizer step. Of a batch that is fixed, the batch
 * grows. */
static struct cb_job accumulate(const struct question *question, const struct cb_job *job,
                                double times)
{
    struct cb_job more = *job;
    if (more.batch_tokens > 0) {
        more.batch_tokens *= times;
        return more;
    }
    more.accumulation = question->now.job.accumulation * times;
    if (more.tokens_per_step > 0)
        more.tokens_per_step *= times;
    return more;
}

/* The smallest whole factor of the micro-batches with which the job helps, into *times, and what
 * the model says then; *times 0 when none up to ACCUMULATION_MAX does. */
static int find_accumulation(const struct question *question, const struct cb_job *job,
                             double *times, struct cb_training *tried, struct cb_error *err)
{
    const struct cb_network *network = question->machine->network;
    double low = 1, high = 2;
    for (;;) {
        struct cb_job more = accumulate(question, job, high);
        int rc = evaluate(question, &more, network, tried, err);
        if (rc)
            return rc;
        if (helps(question, tried))
            break;
        if (high >= ACCUMULATION_MAX) {
            *times = 0;
            return 0;
        }
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        struct cb_training middle;
        double between = floor((low + high) / 2);
        struct cb_job more = accumulate(question, job, between);
        int rc = evaluate(question, &more, network, &middle, err);
        if (rc)
            return rc;
        if (helps(question, &middle)) {
            high = between;
            *tried = middle;
        } else {
            low = between;
        }
    }
    *times = high;
    return 0;
}

static int try_accumulation(const struct question *question, struct cb_advice_list *list,
                            struct cb_error *err)
{
    struct cb_training tried;
    char fall[FALL_TEXT];
    double times;
    int rc = find_accumulation(question, question->stated, &times, &tried, err);
    if (rc || times == 0)
        return rc;
    struct cb_advice *advice = add(CB_ADVICE_ACCUMULATE, tried.job.accumulation, &tried, list);
    snprintf(advice->text, sizeof(advice->text),
             "accumulate %.4g micro-batches per optimizer step instead of %.4g: %s", advice->value,
             question->now.job.accumulation, describe_fall(question, &tried, fall));
    snprintf(advice->caveat, sizeof(advice->caveat),
             "the global batch becomes %g times as large: does it still train as well?", times);
    return 0;
}

/* An alternative that is the same job with some fields set differently. */
struct variant {
    enum cb_advice_kind kind;
    bool (*applies)(const struct question *question, struct cb_job *job); /* and changes it */
    bool may_accumulate; /* tried with more micro-batches too, where alone it is not enough */
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

/* Frozen weights in 4 bits are small enough to stay whole where 16 bits are not. */
static bool use_qlora(const struct question *question, struct cb_job *job)
{
    bool adapter = question->now.job.adapter == CB_ADAPTER_LORA;
    bool whole = use_lora(question, job);
    job->adapter = CB_ADAPTER_QLORA;
    if (adapter)
        job->trainable_parameters = question->stated->trainable_parameters;
    return whole || (adapter && shards_weights(question));
}

static const struct variant variants[] = {
    {CB_ADVICE_OVERLAP, use_overlap, false, "switch on overlap (overlap_comm, overlap_grad_reduce)",
     "assumes that half of what can hide does"},
    {CB_ADVICE_HALF_GRADIENTS, use_half_gradients, false, "reduce gradients in bf16 (2 bytes)",
     "sums in bf16 lose precision over many ranks"},
    {CB_ADVICE_ZERO1, use_zero1, true, "ZeRO-1 instead of sharded weights", ""},
    {CB_ADVICE_HYBRID, use_hybrid, true, "hybrid shard (weights sharded inside the node only)", ""},
    {CB_ADVICE_LORA, use_lora, true, "train adapters (LoRA) instead of all weights",
     "another training, not the same one faster"},
    {CB_ADVICE_QLORA, use_qlora, true, "train adapters on 4-bit weights (QLoRA), whole on each GPU",
     "another training, not the same one faster"},
};

static bool has(const struct cb_advice_list *list, enum cb_advice_kind kind)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].kind == kind)
            return true;
    return false;
}

/* Whether adapters on weights as they are have been found to do: then 4 bits cost for nothing. */
static bool is_enough_in_16_bits(const struct question *question, const struct cb_advice_list *list)
{
    return has(list, CB_ADVICE_LORA) ||
           (question->now.job.adapter == CB_ADAPTER_LORA && has(list, CB_ADVICE_ZERO1));
}

static int try_variant(const struct question *question, const struct variant *variant,
                       struct cb_advice_list *list, struct cb_error *err)
{
    struct cb_job job = *question->stated;
    struct cb_training tried;
    char fall[FALL_TEXT];
    if (!variant->applies(question, &job) ||
        (variant->kind == CB_ADVICE_QLORA && is_enough_in_16_bits(question, list)))
        return 0;
    int rc = evaluate(question, &job, question->machine->network, &tried, err);
    if (rc)
        return rc;
    double times = helps(question, &tried) ? 1 : 0;
    if (times == 0 && variant->may_accumulate)
        rc = find_accumulation(question, &job, &times, &tried, err);
    if (rc || times == 0)
        return rc;
    double value = 0;
    if (variant->kind == CB_ADVICE_LORA || variant->kind == CB_ADVICE_QLORA)
        value = tried.job.adapter_rank;
    else if (variant->kind == CB_ADVICE_OVERLAP)
        value = tried.job.overlap;
    else if (variant->may_accumulate)
        value = tried.job.accumulation;
    struct cb_advice *advice = add(variant->kind, value, &tried, list);
    char more[64] = "";
    if (times > 1) {
        snprintf(more, sizeof(more), " and accumulate %.4g micro-batches instead of %.4g",
                 tried.job.accumulation, question->now.job.accumulation);
        snprintf(advice->caveat, sizeof(advice->caveat),
                 "the global batch becomes %g times as large: does it still train as well?", times);
    } else {
        snprintf(advice->caveat, sizeof(advice->caveat), "%s", variant->caveat);
    }
    snprintf(advice->text, sizeof(advice->text), "%s%s: %s", variant->text, more,
             describe_fall(question, &tried, fall));
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
