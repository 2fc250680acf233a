/* SPDX-License-Identifier: BSD-3-Clause */
/* Graft in GADGET-4: the gravity of sim::gravity in the place of GADGET's tree. gadget4.patch has the calls.
 *
 * Who does what: Graft gives the accelerations and potentials of the active particles in GADGET's raw units, before
 * gravity_comoving_factors multiplies them by G. Everything else is GADGET's as it was: steps, softening classes, comoving
 * factors, domains, snapshots, SPH, the direct sum of few particles (ALLOW_DIRECT_SUMMATION).
 *
 * Compiled by GADGET-4's Makefile, where Config.sh has GRAFT. The first header must be gadgetconfig.h: GADGET checks that. */
#include "gadgetconfig.h"

#ifndef SELFGRAVITY
#error "GRAFT needs SELFGRAVITY in Config.sh: without it this GADGET-4 computes no gravity between particles"
#endif
#ifdef PMGRID
#error "GRAFT and PMGRID exclude each other: Graft computes the forces of all distances; take PMGRID out of Config.sh"
#endif
#ifdef FMM
#error "GRAFT and FMM exclude each other: both stand in the place of GADGET-4's tree; take one of them out of Config.sh"
#endif
#if defined(ONEDIMS) || defined(TWODIMS)
#error "GRAFT expects three dimensions: take ONEDIMS and TWODIMS out of Config.sh"
#endif
#ifdef GRAVITY_TALLBOX
#error "GRAFT serves boxes that are periodic along all axes or none: take GRAVITY_TALLBOX out of Config.sh"
#endif
#ifdef USE_SINGLEPRECISION_INTERNALLY
#error "GRAFT needs positions in double precision: take USE_SINGLEPRECISION_INTERNALLY out of Config.sh"
#endif
#ifdef FORCETEST_TESTFORCELAW
#error "GRAFT has no force split that FORCETEST_TESTFORCELAW could look at: take it out of Config.sh; FORCETEST works"
#endif

#include <graft/functions.h>
#include <graft/graft.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <set>
#include <string>

#include "../data/allvars.h"
#include "../data/dtypes.h"
#include "../data/mymalloc.h"
#include "../logs/logs.h"
#include "../logs/timer.h"
#include "../main/simulation.h"

namespace
{
graft_context *context        = NULL;
graft_comm_v1 *communicator   = NULL;
std::set<std::string> printed; /* by the log: each text once, not at each step */

/* mpiexec may lose what a task prints right before it aborts, and with it why. */
void stop(const std::string &text)
{
  fprintf(stderr, "GRAFT: %s\n", text.c_str());
  fflush(stderr);
  usleep(300000);
  Terminate("Graft: %s", text.c_str());
}

void check(int status, const char *what)
{
  if(status != GRAFT_OK)
    stop(std::string(what) + ": " + graft_last_error() + " (" + graft_status_text(status) + ")");
}

void print_log(void *user, int32_t level, const char *message)
{
  if(printed.insert(message).second)
    static_cast<sim *>(user)->mpi_printf("GRAFT: %s%s\n", level <= GRAFT_LOG_WARNING ? "warning: " : "", message);
}

/* What a deck must leave as it is, since it is GADGET's to say. */
struct fixed_key
{
  const char *key, *value, *why;
};

const fixed_key fixed_keys[] = {
    {"interaction", "gravity", "GADGET-4 has masses"},
    {"dimension", "3", "GADGET-4 was compiled for three dimensions"},
    {"softening.kind", "spline", "it is the softening of GADGET-4"},
    {"softening.length", "0", "softening lengths are those of the classes in the parameter file"},
    {"units.length", "", "GADGET-4 multiplies by G itself"},
    {"units.mass", "", "GADGET-4 multiplies by G itself"},
    {"units.time", "", "GADGET-4 multiplies by G itself"},
    {"constant", "1", "GADGET-4 multiplies by G itself"},
    {"mac.history", "false", "GADGET-4 changes the order of its particles between calls"},
    {"box.periodic", "none", "the box is that of PERIODIC and BoxSize"},
    {"box.x", "0", "the box is that of PERIODIC and BoxSize"},
    {"box.y", "0", "the box is that of PERIODIC and BoxSize"},
    {"box.z", "0", "the box is that of PERIODIC and BoxSize"},
};

void refuse_keys(const graft_options *options, const char *deck)
{
  for(const fixed_key &fixed : fixed_keys)
    {
      char value[256] = "";
      int status      = graft_options_get(options, fixed.key, value, sizeof value, NULL);
      if(status == GRAFT_ERROR_ABSENT)
        value[0] = 0;
      else
        check(status, fixed.key);
      if(strcmp(value, fixed.value) != 0)
        stop(std::string(deck) + " has " + fixed.key + ": " + value + "; expected " +
             (fixed.value[0] ? fixed.value : "no such key") + ": " + fixed.why);
    }
}

/* graft.yaml in the folder of the parameter file. */
std::string deck_beside(const char *parameterfile)
{
  std::string path(parameterfile);
  return path.substr(0, path.rfind('/') + 1) + "graft.yaml"; /* rfind gives npos, and npos + 1 is 0, where there is no slash */
}

graft_context *make_context(const std::string &deck)
{
  graft_options *options = NULL;
  check(graft_options_create(&options), "options");
  check(graft_options_set(options, "softening.kind", "spline"), "softening.kind");
  check(graft_options_set(options, "threads", "1"), "threads"); /* GADGET has a task on each core */
  check(graft_options_set_double(options, "mac.accuracy", All.ErrTolForceAcc), "mac.accuracy from ErrTolForceAcc");
#ifdef PERIODIC
  /* Most periodic runs start from a slightly moved lattice, whose forces are far smaller than those of single particles. */
  check(graft_options_set(options, "ewald.accuracy", "1e-6"), "ewald.accuracy");
#endif
  if(access(deck.c_str(), F_OK) == 0)
    check(graft_options_read_file(options, deck.c_str()), "deck");
  refuse_keys(options, deck.c_str());
  graft_context *made = NULL;
  check(graft_context_create(options, NULL, &made), "context");
  check(graft_options_destroy(&options), "options");
  return made;
}

#ifdef PERIODIC
void set_box(void)
{
  const double edge[3] = {All.BoxSize / LONG_X, All.BoxSize / LONG_Y, All.BoxSize / LONG_Z};
  graft_box box;
  memset(&box, 0, sizeof box);
  box.struct_size = sizeof box;
  for(int j = 0; j < 3; j++)
    {
      box.upper[j]    = edge[j];
      box.periodic[j] = 1;
    }
  check(graft_context_set_box(context, &box), "box");
}
#endif

/* Interactions on this task in the last computation. */
double interactions(void)
{
  double sum = 0;
  for(const char *key : {"interactions.p2p", "interactions.m2p", "interactions.m2l"})
    {
      double count = 0;
      if(graft_query(context, key, &count) == GRAFT_OK)
        sum += count;
    }
  return sum;
}

graft_array view_of(void *data, int64_t n, int components)
{
  graft_array view = graft_view(data, GRAFT_F64, n, components, 0, 0);
  view.memory      = GRAFT_MEMORY_HOST;
  return view;
}

/* Arrays of one call, from GADGET's own memory. */
struct call_arrays
{
  double *position, *mass, *length, *field, *potential;

  explicit call_arrays(int64_t n)
  {
    position  = (double *)Mem.mymalloc("graft_position", 3 * n * sizeof(double));
    mass      = (double *)Mem.mymalloc("graft_mass", n * sizeof(double));
    length    = (double *)Mem.mymalloc("graft_length", n * sizeof(double));
    field     = (double *)Mem.mymalloc("graft_field", 3 * n * sizeof(double));
    potential = (double *)Mem.mymalloc("graft_potential", n * sizeof(double));
  }

  ~call_arrays() /* in the order that GADGET's stack of memory wants */
  {
    Mem.myfree(potential);
    Mem.myfree(field);
    Mem.myfree(length);
    Mem.myfree(mass);
    Mem.myfree(position);
  }
};

void compute(const call_arrays &a, int64_t n, int *targets, int64_t count)
{
  graft_array position = view_of(a.position, n, 3), mass = view_of(a.mass, n, 1), length = view_of(a.length, n, 1);
  graft_array field = view_of(a.field, n, 3), potential = view_of(a.potential, n, 1);
  graft_array target_index = graft_view_i32(targets, count);
  target_index.memory      = GRAFT_MEMORY_HOST;

  graft_particles particles;
  memset(&particles, 0, sizeof particles);
  particles.struct_size = sizeof particles;
  particles.n           = n;
  particles.position[0] = &position;
  particles.charge      = &mass;
  particles.softening   = &length;
  if(targets != NULL)
    particles.target_index = &target_index;

  graft_results results;
  memset(&results, 0, sizeof results);
  results.struct_size     = sizeof results;
  results.acceleration[0] = &field;
#ifdef EVALPOTENTIAL
  results.potential = &potential;
#else
  (void)potential;
#endif
  check(graft_compute(context, &particles, &results), "forces");
}
}  // namespace

/* Loads Graft, so that what is missing or cannot be is told before any work. All tasks call it together. */
void sim::gravity_graft_open(const char *parameterfile)
{
  if(All.RestartFlag != RST_BEGIN && All.RestartFlag != RST_RESUME && All.RestartFlag != RST_STARTFROMSNAP)
    return; /* no forces in what these do */

  const std::string deck = deck_beside(parameterfile);
  check(graft_open(NULL), "library");
  context = make_context(deck);
  check(graft_context_set_log(context, print_log, this, 0), "log");
#ifdef PERIODIC
  set_box();
#endif
  if(NTask > 1)
    {
      check(graft_mpi_comm((int32_t)MPI_Comm_c2f(Communicator), &communicator), "MPI");
      check(graft_context_set_communicator(context, communicator), "communicator");
    }
  char accuracy[64] = "";
  check(graft_context_get(context, "mac.accuracy", accuracy, sizeof accuracy, NULL), "mac.accuracy");
  mpi_printf("GRAFT: Graft %s gives the gravity; %s %s; mac.accuracy %s\n", graft_version(),
             access(deck.c_str(), F_OK) == 0 ? "deck" : "no deck", deck.c_str(), accuracy);
}

/* Accelerations, potentials and costs of the active particles, as GADGET's gravity_tree leaves them. */
void sim::gravity_graft(int timebin)
{
  TIMER_START(CPU_TREE);
  double tstart = Logs.second();
  int count     = Sp.TimeBinsGravity.NActiveParticles;
  int *active   = Sp.TimeBinsGravity.ActiveParticleList;
#ifdef HIERARCHICAL_GRAVITY
  int n        = count; /* only the active ones act */
  int *sources = active, *targets = NULL;
#else
  int n        = Sp.NumPart;
  int *sources = NULL, *targets = active;
#endif

  call_arrays a(n);
  for(int k = 0; k < n; k++)
    {
      int i = sources != NULL ? sources[k] : k;
      Sp.intpos_to_pos(Sp.P[i].IntPos, &a.position[3 * k]);
      a.mass[k]   = Sp.P[i].getMass();
      a.length[k] = All.ForceSoftening[Sp.P[i].getSofteningClass()];
      if(!(a.length[k] > 0))
        Terminate("Graft: the particle with ID=%lld, of type %d, has the softening %g of class %d; expected more than 0",
                  (long long)Sp.P[i].ID.get(), (int)Sp.P[i].getType(), a.length[k] / 2.8, (int)Sp.P[i].getSofteningClass());
    }

  compute(a, n, targets, count);

  double done = interactions();
  for(int k = 0; k < count; k++)
    {
      int i = active[k], from = sources != NULL ? k : i;
      for(int j = 0; j < 3; j++)
        Sp.P[i].GravAccel[j] = a.field[3 * from + j];
#ifdef EVALPOTENTIAL
      /* gravity_comoving_factors takes the particle's own share off again */
      Sp.P[i].Potential = a.potential[from] - a.mass[from] / (a.length[from] / 2.8);
#endif
      if(GravTree.MeasureCostFlag)
        Sp.P[i].GravCost = 1 + (int)(done / count); /* Graft tells no costs of single particles */
    }

  All.TotNumOfForces += Sp.TimeBinsGravity.GlobalNActiveParticles;
  TIMER_STOP(CPU_TREE);

  double took = Logs.timediff(tstart, Logs.second()), all = 0;
  MPI_Reduce(&done, &all, 1, MPI_DOUBLE, MPI_SUM, 0, Communicator);
  if(ThisTask == 0)
    {
      double forces = Sp.TimeBinsGravity.GlobalNActiveParticles;
      fprintf(Logs.FdTimings, "Nf=%9lld  timebin=%d  total-Nf=%lld\n", Sp.TimeBinsGravity.GlobalNActiveParticles, timebin,
              All.TotNumOfForces);
      fprintf(Logs.FdTimings, "  (graft) took=%g sec  part/sec: %g  ia/part: %g\n", took, forces / (NTask * took + 1e-20),
              all / (forces + 1e-20));
      myflush(Logs.FdTimings);
    }
}
