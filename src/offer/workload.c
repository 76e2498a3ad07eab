#include "offer/workload.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference/models.h"

/* ---- known models ---- */

struct figure {
    enum cb_workload_field field;
    double *stated;
    double known;
};

/* What a known model says where nobody states anything. */
static void take_model(const struct cb_model_row *row, struct cb_workload *workload)
{
    struct cb_job *job = &workload->job;
    bool mixture = row->active_parameters < row->parameters;
    /* Of another size it has other experts: then all of it is active, unless stated. */
    bool resized = job->parameters > 0;
    const struct figure figures[] = {
        {CB_FIELD_ACTIVE, &job->active_parameters,
         mixture && !resized ? row->active_parameters : 0},
        {CB_FIELD_PARAMETERS, &job->parameters, row->parameters},
        {CB_FIELD_LAYERS, &job->layers, row->layers},
        {CB_FIELD_HIDDEN, &job->hidden, row->hidden},
        {CB_FIELD_HEADS, &job->heads, row->heads},
        {CB_FIELD_KV_HEADS, &job->kv_heads, row->kv_heads},
        {CB_FIELD_VOCABULARY, &job->vocabulary, row->vocabulary},
        {CB_FIELD_EXPERTS, &job->experts, row->experts},
        {CB_FIELD_EXPERTS_PER_TOKEN, &job->experts_per_token, row->experts_per_token},
        {CB_FIELD_SAMPLE_FLOPS, &job->sample_flops, row->sample_flops},
    };
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        if (*figures[i].stated > 0 || !(figures[i].known > 0))
            continue;
        *figures[i].stated = figures[i].known;
        workload->sources[figures[i].field] = CB_FROM_REFERENCE;
    }
    /* Stated tokens that are no multiple of its sequence come in others. */
    double sequence = row->sequence;
    if (!(job->sequence > 0) && fmod(job->tokens_per_step, sequence) == 0 &&
        fmod(job->batch_tokens, sequence) == 0) {
        job->sequence = sequence;
        workload->sources[CB_FIELD_SEQUENCE] = CB_FROM_REFERENCE;
    }
    snprintf(job->name, sizeof(job->name), "%s", row->title);
}

static int apply_model(const struct cb_workload_texts *stated, struct cb_workload *workload,
                       struct cb_error *err)
{
    const struct cb_model_row *row = cb_model_find(workload->model);
    if (row)
        take_model(row, workload);
    if (row || !workload->model[0])
        return 0;
    const char *near = cb_model_suggest(workload->model);
    cb_fail(err, CB_E_USAGE, "unknown model '%.40s'%s%s%s", workload->model,
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    cb_error_set_hint(err, "state its parameters instead, or see commbound judge --list models");
    cb_workload_texts_locate(stated, CB_FIELD_MODEL, err);
    return err->code;
}

/* ---- what no single value shows ---- */

/* The place where a time was stated, or NULL. */
static const char *stated_time(const struct cb_workload *workload, enum cb_workload_field *field)
{
    static const enum cb_workload_field times[] = {
        [CB_SPAN_TOTAL] = CB_FIELD_TOTAL_TIME,
        [CB_SPAN_STEP] = CB_FIELD_STEP_TIME,
        [CB_SPAN_COMPUTE] = CB_FIELD_COMPUTE_TIME,
    };
    if (workload->span == CB_SPAN_COUNT)
        return NULL;
    *field = times[workload->span];
    return cb_workload_field_name(*field);
}

static int check_times(const struct cb_workload *workload, struct cb_error *err)
{
    enum cb_workload_field field;
    const char *time = stated_time(workload, &field);
    if (time && !(workload->job.parameters > 0)) {
        cb_fail(err, CB_E_USAGE, "--%s needs --parameters or --model, the model it is the time of",
                time);
        return err->code;
    }
    if (workload->span != CB_SPAN_TOTAL || workload->communications > 0 ||
        workload->job.total_steps > 0 || workload->job.total_tokens > 0)
        return 0;
    cb_fail(err, CB_E_USAGE,
            "--total-time needs --communications, the synchronisations in that time, or "
            "--total-steps");
    cb_error_set_hint(err, "or state the time of one step with --step-time");
    return err->code;
}

/* A job that can be told: the rest of its checks need the number of GPUs. */
static int check_job(const struct cb_workload *workload, struct cb_error *err)
{
    static const enum cb_workload_field without_model[] = {
        CB_FIELD_TRAINABLE, CB_FIELD_ACTIVE, CB_FIELD_SCHEME, CB_FIELD_LORA,
        CB_FIELD_QLORA,     CB_FIELD_LAYERS, CB_FIELD_HIDDEN, CB_FIELD_SEQUENCE,
    };
    if (workload->job.parameters > 0) {
        int rc = cb_job_check(&workload->job, 0, err);
        if (rc)
            cb_workload_respell(err);
        return rc;
    }
    for (size_t i = 0; i < sizeof(without_model) / sizeof(without_model[0]); i++)
        if (workload->sources[without_model[i]] != CB_FROM_NOWHERE) {
            cb_fail(err, CB_E_USAGE, "--%s needs --parameters or --model, the model it is about",
                    cb_workload_field_name(without_model[i]));
            return err->code;
        }
    return 0;
}

int cb_workload_compose(const struct cb_workload_texts *command_line,
                        struct cb_workload_texts *file, struct cb_workload *workload,
                        struct cb_error *err)
{
    struct cb_workload made;
    struct cb_error local;
    int rc = 0;
    if (!err)
        err = &local;
    cb_workload_init(&made);
    made.bandwidth_bytes_per_s = workload->bandwidth_bytes_per_s;
    made.nominal_bytes_per_s = workload->nominal_bytes_per_s;
    made.nominal_kind = workload->nominal_kind;
    if (file) {
        cb_workload_texts_override(command_line, file);
        rc = cb_workload_texts_apply(file, &made, err);
    }
    if (rc == 0)
        rc = cb_workload_texts_apply(command_line, &made, err);
    if (rc == 0)
        rc = apply_model(file && file->stated[CB_FIELD_MODEL] ? file : command_line, &made, err);
    if (rc == 0)
        rc = check_times(&made, err);
    if (rc == 0)
        rc = check_job(&made, err);
    if (rc == 0)
        *workload = made;
    return rc;
}
