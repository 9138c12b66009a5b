/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rabit, the part of XGBoost 1.7 through which its workers sum up. libxgboost calls it by functions
 * that another library may take the place of (rabit.c). What Canary does not do goes to them
 * (worker.c).
 */
#ifndef CANARY_XGBOOST_RABIT_H
#define CANARY_XGBOOST_RABIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Types and operators, as rabit numbers them */
enum rabit_type {
	RABIT_CHAR, RABIT_UCHAR, RABIT_INT, RABIT_UINT, RABIT_LONG, RABIT_ULONG, RABIT_FLOAT,
	RABIT_DOUBLE, RABIT_LONG_LONG, RABIT_ULONG_LONG, RABIT_TYPES
};

enum rabit_operator {
	RABIT_MAX, RABIT_MIN, RABIT_SUM, RABIT_OR, RABIT_OPERATORS
};

/* Adds up elements of two buffers. Rabit hands it on, and nobody here calls it. */
typedef void rabit_reduce(const void *from, void *to, int count, const void *type);

/* Fills in the data before they are sent, if the caller has not done so yet */
typedef void rabit_prepare(void *arg);

/**
 * struct rabit_sum - an allreduce, as XGBoost calls it
 * @data:	contribution, receives the result
 * @size:	bytes of an element
 * @count:	elements
 * @reduce:	what rabit reduces by
 * @type, @op:	enum rabit_type, enum rabit_operator
 * @prepare:	NULL, or has to be called before, with @arg
 */
struct rabit_sum {
	void		*data;
	size_t		size;
	size_t		count;
	rabit_reduce	*reduce;
	int		type;
	int		op;
	rabit_prepare	*prepare;
	void		*arg;
};

/* Rabit's own functions, in the libxgboost that calls. Constant once they are found */
struct rabit {
	void	(*sum)(void *data, size_t size, size_t count, rabit_reduce *reduce, int type,
		       int op, rabit_prepare *prepare, void *arg);
	void	(*finalize)(void);
	int	(*allreduce)(void *data, size_t count, int type, int op, rabit_prepare *prepare,
			     void *arg);
	int	(*rank)(void);
	int	(*members)(void);
	void	(*error)(const char *format, ...);	/* throws what Python catches */
};

/*
 * worker_sum() - carry out an allreduce by Canary
 * Return: false: it is for rabit. The answer is the same at all workers.
 */
bool worker_sum(const struct rabit *rabit, const struct rabit_sum *sum);

/* worker_end() - rabit is about to end for this thread */
void worker_end(void);

#endif /* CANARY_XGBOOST_RABIT_H */
