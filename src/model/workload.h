/* What a user states about a training, as texts and as values: one table of fields
 * (workload_fields.h) behind the command line and the workload file. */
#ifndef CB_MODEL_WORKLOAD_H
#define CB_MODEL_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/provenance.h"
#include "model/formula.h"
#include "model/job.h"
#include "model/workload_fields.h"

enum cb_workload_field {
#define X(id, name, kind, member, argument, doc) CB_FIELD_##id,
    CB_WORKLOAD_FIELDS(X)
#undef X
        CB_FIELD_COUNT
};

/* The values; 0 (CB_SPAN_COUNT, an empty text) is "not stated". */
struct cb_workload {
    char model[64]; /* of reference/models.h, as it was stated */
    struct cb_job job;
    double communications;          /* over the whole training: overrides what follows from */
    double communications_per_step; /* the scheme, or from this */
    enum cb_span span;              /* of time_s; CB_SPAN_COUNT when no time was stated */
    double time_s;
    double threshold; /* 0: the documents' 20 % */
    double price_per_gpu_hour;
    char currency[8];
    double bandwidth_bytes_per_s; /* overrides what was measured */
    double nominal_bytes_per_s;   /* what the offer advertises between nodes, one way */
    const char *nominal_kind;     /* and the kind of its network, "InfiniBand"; NULL; borrowed */
    enum cb_provenance sources[CB_FIELD_COUNT]; /* nowhere: not stated */
};

/* Nothing stated. */
void cb_workload_init(struct cb_workload *workload);

/* "micro-batch", "scheme", ...: the option without its dashes and the key of a file; never NULL.
 * find returns -1 for another name, suggest the nearest one or NULL. */
const char *cb_workload_field_name(enum cb_workload_field field);
int cb_workload_field_find(const char *name);
const char *cb_workload_field_suggest(const char *name);

/* Reads one field's text into its value, with that source. Errors: CB_E_USAGE for a text that is
 * none of the field's values (err->what shows it, err->hint the forms); the workload is then
 * unchanged. */
int cb_workload_set(struct cb_workload *workload, enum cb_workload_field field, const char *text,
                    enum cb_provenance source, struct cb_error *err);

/* Another stated field that cannot stand beside this one (two times, two adapters), or -1. */
int cb_workload_rival(const struct cb_workload *workload, enum cb_workload_field field);

/* Spells the members of a job that a message names ("tensor", "trainable_parameters") as the
 * options that state them ("--tensor-parallel", "--trainable-parameters"). err may be NULL. */
void cb_workload_respell(struct cb_error *err);

/* ---- texts: what was stated where, before it is put together ---- */

#define CB_WORKLOAD_TEXT 96

struct cb_workload_texts {
    const char *file;                            /* borrowed; NULL: the command line */
    char text[CB_FIELD_COUNT][CB_WORKLOAD_TEXT]; /* empty: not stated */
    bool stated[CB_FIELD_COUNT];
    int line[CB_FIELD_COUNT]; /* of the file; 0: not known */
};

/* Drops from below what above states itself or in another way: a time stated above replaces any
 * time below, tokens per step the shape of the batch, and so on. */
void cb_workload_texts_override(const struct cb_workload_texts *above,
                                struct cb_workload_texts *below);

/* Puts "--name: why" or "FILE: line N: name: why" for what err says; what a file is
 * wrong about is CB_E_INPUT. */
void cb_workload_texts_locate(const struct cb_workload_texts *texts, enum cb_workload_field field,
                              struct cb_error *err);

/* Reads every stated text into the workload, given, in the order of the table. Errors: CB_E_USAGE
 * of the command line, CB_E_INPUT of a file, both with the place; the workload is then half
 * filled. */
int cb_workload_texts_apply(const struct cb_workload_texts *texts, struct cb_workload *workload,
                            struct cb_error *err);

#endif
