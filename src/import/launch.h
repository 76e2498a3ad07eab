/* How many ranks a launcher was told to start, from its command line or environment in a log.
 * Private to import/. */
#ifndef CB_IMPORT_LAUNCH_H
#define CB_IMPORT_LAUNCH_H

/* "mpirun -np 16 ...", "srun -n 16", "srun -N2 --ntasks-per-node=4", "SLURM_NTASKS=16"; 0 where the
 * line says nothing of it. */
int cb_launch_ranks(const char *line);

#endif
