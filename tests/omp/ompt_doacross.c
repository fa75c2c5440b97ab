// What a tool sees of a doacross loop: each iteration that is done (source), and each that another
// waits for (sink), by its number in each dimension, in the task of the member.
//
// header: omp-tools.h
// flags: -rdynamic
// threads: 1 2 7
// reference: no
// reason: libgomp has no tools
#include <omp.h>

#include "ompt_events.h"

enum { ROWS = 6, COLUMNS = 4 };

static int at[ROWS + 1][COLUMNS + 1];

// Rows count from -2 in steps of 3, so that a number is no index.
static void sweep(void) {
#pragma omp parallel for ordered(2) schedule(static)
  for (int row = -2; row < ROWS * 3 - 2; row += 3) {
    for (int column = 1; column <= COLUMNS; ++column) {
      int i = (row + 2) / 3 + 1;
#pragma omp ordered depend(sink : row - 3, column) depend(sink : row, column - 1)
      at[i][column] = at[i - 1][column] + at[i][column - 1] + 1;
#pragma omp ordered depend(source)
    }
  }
}

static unsigned long number_in(const event* e) { return (unsigned long)(uintptr_t)e->code; }

// The events of a kind. A callback's follow each other on its thread: the row, then the column.
static void count_numbers(int kind, unsigned long wanted[ROWS][COLUMNS]) {
  static const event* row[MOST_IDS];
  unsigned long seen[ROWS][COLUMNS] = {{0}};
  for (const event* e = events; e < events + n_events; ++e) {
    if (e->what != ompt_callback_dependences || e->kind != kind || e->thread >= MOST_IDS) continue;
    if (!row[e->thread]) {
      row[e->thread] = e;
      continue;
    }
    must_be("the task of both", e->id, row[e->thread]->id);
    unsigned long i = number_in(row[e->thread]), j = number_in(e);
    must_be("a row and a column that there are", i < ROWS && j < COLUMNS, 1);
    if (i < ROWS && j < COLUMNS) ++seen[i][j];
    row[e->thread] = NULL;
  }
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < COLUMNS; ++j) must_be("events of an iteration", seen[i][j], wanted[i][j]);
}

static void events_expected(void) {
  unsigned long sources[ROWS][COLUMNS], sinks[ROWS][COLUMNS];
  int alone = omp_get_max_threads() == 1;  // it waits for nothing
  for (int i = 0; i < ROWS; ++i) {
    for (int j = 0; j < COLUMNS; ++j) {
      sources[i][j] = !alone;
      sinks[i][j] = alone ? 0 : (unsigned long)((i < ROWS - 1) + (j < COLUMNS - 1));
    }
  }
  count_numbers(ompt_dependence_type_source, sources);
  count_numbers(ompt_dependence_type_sink, sinks);
}

int main(void) {
  sweep();
  must_be("the last cell", (unsigned long)at[ROWS][COLUMNS], 209);
  return leave_tool();
}
