#define _GNU_SOURCE /* environ */
#include "cb_test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/environment.h"

static void test_white_list(void **state)
{
    (void)state;
    static const char *const in[] = {
        "OMPI_MCA_pml",
        "OMPI_MCA_btl_tcp_if_include",
        "UCX_TLS",
        "NCCL_ALGO",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "GOMP_CPU_AFFINITY",
        "SLURM_JOB_ID",
        "SLURM_NTASKS",
        "SLURM_GPUS_PER_NODE",
        "CUDA_VISIBLE_DEVICES",
        "CUDA_LAUNCH_BLOCKING",
        "CUBLASLT_LOG_LEVEL",
        "NVIDIA_TF32_OVERRIDE",
        "FI_PROVIDER",
        "OFI_NCCL_PROTOCOL",
        "SLURM_GPU_BIND",
        "OMPI_COMM_WORLD_SIZE",
    };
    static const char *const out[] = {
        "HOME",
        "PATH",
        "AWS_SECRET_ACCESS_KEY",
        "MY_UCX_TLS",
        "CUDA_HOME",
        "SLURM_JWT",
        "SLURM_JOB_ID_2",
        "SLURM_SUBMIT_HOST",
        "OMPI_MCA_orte_hnp_uri",
        "OMPI_MCA_ess_base_jobid",
        "OMPI_MCA_pmix",
        "OMPI_MCA_initial_wdir",
        "OMPI_MCA_mca_base_env_list",
        "PMIX_SERVER_URI2",
        "NCCL_SOME_TOKEN",
        "UCX_api_key",
        "OMPI_MCA_plm_password",
        "NCCL_Secret",
        "",
    };
    for (size_t i = 0; i < sizeof(in) / sizeof(*in); i++)
        if (!cb_environment_is_recorded(in[i]))
            fail_msg("%s should be recorded", in[i]);
    for (size_t i = 0; i < sizeof(out) / sizeof(*out); i++)
        if (cb_environment_is_recorded(out[i]))
            fail_msg("%s should not be recorded", out[i]);
}

static int ranks_of(const char *a, const char *b, const char *c)
{
    char *variables[] = {(char *)a, (char *)b, (char *)c, NULL};
    return cb_environment_local_ranks(variables);
}

static void test_local_ranks(void **state)
{
    (void)state;
    assert_int_equal(
        ranks_of("OMPI_COMM_WORLD_LOCAL_SIZE=4", "SLURM_PROCID=0", "SLURM_STEP_TASKS_PER_NODE=9"),
        4);
    assert_int_equal(ranks_of("MPI_LOCALNRANKS=3", NULL, NULL), 3);
    assert_int_equal(ranks_of("SLURM_PROCID=0", "SLURM_STEP_TASKS_PER_NODE=6", NULL), 6);
    assert_int_equal(ranks_of("SLURM_PROCID=0", "SLURM_NODEID=1", "SLURM_TASKS_PER_NODE=2(x3),1"),
                     2);
    assert_int_equal(ranks_of("SLURM_PROCID=6", "SLURM_NODEID=3", "SLURM_TASKS_PER_NODE=2(x3),1"),
                     1);
    assert_int_equal(ranks_of("SLURM_PROCID=6", "SLURM_NODEID=4", "SLURM_TASKS_PER_NODE=2(x3),1"),
                     0);
    assert_int_equal(ranks_of("SLURM_PROCID=0", "SLURM_NTASKS_PER_NODE=8", NULL), 8);
    /* In the batch script, not in a step. */
    assert_int_equal(ranks_of("SLURM_TASKS_PER_NODE=2(x3)", NULL, NULL), 0);
    assert_int_equal(ranks_of("OMPI_COMM_WORLD_LOCAL_SIZE=-4", NULL, NULL), 0);
    assert_int_equal(ranks_of("OMPI_COMM_WORLD_LOCAL_SIZE=4x", NULL, NULL), 0);
    assert_int_equal(ranks_of("SLURM_PROCID=0", "SLURM_TASKS_PER_NODE=(x", NULL), 0);
    assert_int_equal(ranks_of("SLURM_PROCID=0", "SLURM_TASKS_PER_NODE=2(x", "SLURM_NODEID=5"), 0);
    assert_int_equal(ranks_of(NULL, NULL, NULL), 0);
}

static int job_ranks(const char *a, const char *b)
{
    char *variables[] = {(char *)a, (char *)b, NULL};
    return cb_environment_job_ranks(variables);
}

static void test_job_ranks(void **state)
{
    (void)state;
    assert_int_equal(job_ranks("SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=4"), 4);
    assert_int_equal(job_ranks("PMI_SIZE=8", NULL), 8);
    /* mpirun's own number, inside a step that Slurm started for its daemons. */
    char *inside[] = {(char *)"SLURM_PROCID=0", (char *)"SLURM_STEP_NUM_TASKS=2",
                      (char *)"OMPI_COMM_WORLD_SIZE=1", NULL};
    assert_int_equal(cb_environment_job_ranks(inside), 1);
    assert_int_equal(job_ranks("SLURM_STEP_NUM_TASKS=4", NULL), 0);
    assert_int_equal(job_ranks("SLURM_PROCID=0", NULL), 0);
}

static const char *planned(const struct cb_environment_changes *changes, const char *name)
{
    for (size_t i = 0; i < changes->count; i++)
        if (strcmp(changes->items[i].name, name) == 0)
            return changes->items[i].value;
    return NULL;
}

static struct cb_environment_changes plan(const char *a, const char *b, const char *params,
                                          int cpus)
{
    struct cb_environment_changes changes;
    char *variables[] = {(char *)a, (char *)b, NULL};
    cb_environment_plan(variables, params, cpus, &changes);
    return changes;
}

static void test_plan(void **state)
{
    (void)state;
    const char *flags = "OMPI_MCA_btl_tcp_flags", *yield = "OMPI_MCA_mpi_yield_when_idle";
    const char *four = "OMPI_COMM_WORLD_LOCAL_SIZE=4";
    struct cb_environment_changes changes = plan(four, NULL, NULL, 4);
    assert_string_equal(planned(&changes, flags), "send");
    assert_null(planned(&changes, yield));
    assert_non_null(changes.items[0].reason);
    changes = plan(four, NULL, NULL, 3);
    assert_string_equal(planned(&changes, yield), "1");
    changes = plan(four, NULL, NULL, 0);
    assert_null(planned(&changes, yield));
    changes = plan(NULL, NULL, NULL, 1);
    assert_null(planned(&changes, yield));

    /* What the user has set stays, wherever it was set, even to nothing. */
    changes = plan(four, "OMPI_MCA_btl_tcp_flags=1", NULL, 4);
    assert_null(planned(&changes, flags));
    changes = plan(four, "OMPI_MCA_btl_tcp_flags=", NULL, 4);
    assert_null(planned(&changes, flags));
    changes = plan(four, "OMPI_MCA_btl_tcp_flags_more=1", NULL, 4);
    assert_string_equal(planned(&changes, flags), "send");
    changes = plan(four, NULL, "pml = ob1\nbtl_tcp_flags = put\n", 2);
    assert_null(planned(&changes, flags));
    assert_string_equal(planned(&changes, yield), "1");
}

static void test_prepare_sets_and_says_so(void **state)
{
    (void)state;
    struct cb_environment_changes changes;
    struct cb_error err;
    char home[] = "/tmp/cb_environment.XXXXXX"; /* no parameter file in it */
    assert_non_null(mkdtemp(home));
    setenv("HOME", home, 1);
    unsetenv("OMPI_MCA_btl_tcp_flags");
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "8", 1);
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
    assert_ok(cb_environment_prepare(2, &changes, &err), &err);
    assert_string_equal(getenv("OMPI_MCA_btl_tcp_flags"), "send");
    assert_string_equal(getenv("OMPI_MCA_mpi_yield_when_idle"), "0");
    assert_int_equal(changes.count, 1);

    struct cb_result result;
    cb_result_init(&result);
    assert_ok(cb_environment_collect(&result, environ, &changes, &err), &err);
    const char *flags = NULL, *yield = NULL;
    for (size_t i = 0; i < result.environment.count; i++) {
        if (strcmp(result.environment.items[i].name, "OMPI_MCA_btl_tcp_flags") == 0)
            flags = result.environment.items[i].set_by;
        if (strcmp(result.environment.items[i].name, "OMPI_MCA_mpi_yield_when_idle") == 0)
            yield = result.environment.items[i].set_by;
    }
    assert_string_equal(flags, "commbound");
    assert_string_equal(yield, "user");
    cb_result_fini(&result);
    rmdir(home);
}

static void test_collect_takes_the_listed_ones_in_order(void **state)
{
    (void)state;
    static char long_value[1000] = "UCX_LONG=";
    memset(long_value + strlen(long_value), 'x', sizeof(long_value) - strlen(long_value) - 1);
    char *variables[] = {(char *)"UCX_TLS=rc\033[2J,\xc3\xa9",
                         (char *)"HOME=/root",
                         (char *)"NCCL_ALGO=Ring=Tree",
                         (char *)"OMPI_MCA_orte_hnp_uri=1;tcp://10.0.0.1:5",
                         (char *)"MALFORMED",
                         (char *)"OMP_NUM_THREADS=",
                         (char *)"NCCL_API_TOKEN=hunter2",
                         long_value,
                         NULL};
    static const char *const names[] = {"NCCL_ALGO", "OMP_NUM_THREADS", "UCX_LONG", "UCX_TLS"};
    struct cb_result result;
    struct cb_error err;
    cb_result_init(&result);
    assert_ok(cb_environment_collect(&result, variables, NULL, &err), &err);
    assert_int_equal(result.environment.count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(result.environment.items[i].name, names[i]);
        assert_string_equal(result.environment.items[i].set_by, "user");
    }
    assert_string_equal(result.environment.items[0].value, "Ring=Tree");
    assert_string_equal(result.environment.items[1].value, "");
    assert_int_equal(strlen(result.environment.items[2].value), CB_TEXT - 1);
    assert_string_equal(result.environment.items[3].value, "rc?[2J,??");
    cb_result_fini(&result);
}

static void test_parameter_files(void **state)
{
    (void)state;
    char value[32] = "untouched";
    const char *text = "# pml = cm\n\n  pml =  ^ucx  # Debian\npmlx=1\npml_base_verbose = 5\n";
    assert_true(cb_environment_find_param(text, "pml", value, sizeof(value)));
    assert_string_equal(value, "^ucx");
    assert_true(cb_environment_find_param("pml=a\npml=b", "pml", value, sizeof(value)));
    assert_string_equal(value, "b");
    assert_true(cb_environment_find_param("pml=\n", "pml", value, sizeof(value)));
    assert_string_equal(value, "");
    strcpy(value, "untouched");
    assert_false(cb_environment_find_param(text, "pm", value, sizeof(value)));
    assert_false(cb_environment_find_param(text, "btl", value, sizeof(value)));
    assert_false(cb_environment_find_param("", "pml", value, sizeof(value)));
    assert_false(cb_environment_find_param("pml", "pml", value, sizeof(value)));
    assert_string_equal(value, "untouched");
}

/* Open MPI: a list names what may be used, one that starts with ^ what may not. */
static void test_selections(void **state)
{
    (void)state;
    assert_true(cb_environment_excludes("^ucx", "ucx"));
    assert_true(cb_environment_excludes("^uct,ucx,ofi", "ucx"));
    assert_false(cb_environment_excludes("^uct,ofi", "ucx"));
    assert_true(cb_environment_excludes("ob1", "ucx"));
    assert_true(cb_environment_excludes("ucxx,xucx", "ucx"));
    assert_false(cb_environment_excludes("ob1, ucx", "ucx"));
    assert_false(cb_environment_excludes("ucx", "ucx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_white_list),
        cmocka_unit_test(test_local_ranks),
        cmocka_unit_test(test_job_ranks),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_prepare_sets_and_says_so),
        cmocka_unit_test(test_collect_takes_the_listed_ones_in_order),
        cmocka_unit_test(test_parameter_files),
        cmocka_unit_test(test_selections),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
