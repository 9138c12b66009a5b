// SPDX-License-Identifier: BSD-2-Clause
/* The extension module canary_torch._C. The package's __init__.py is what people use. */
#include <torch/csrc/utils/pybind.h>
#include <pybind11/chrono.h>
#include <pybind11/stl.h>
#include "group.hpp"
#include "report.hpp"
#include "settings.hpp"

namespace py = pybind11;
using namespace canary_torch;

/*
 * Python may drop the last reference to a group, and holds its lock then. The end of a group waits
 * for other ranks, and for threads. These need that lock, if they have the last reference to a
 * tensor that Python has seen.
 */
class PythonGroup : public ProcessGroupCanary {
public:
	using ProcessGroupCanary::ProcessGroupCanary;

	~PythonGroup() override
	{
		std::unique_ptr<py::gil_scoped_release> unlocked;

		if (Py_IsInitialized() && PyGILState_Check())
			unlocked.reset(new py::gil_scoped_release);
		release();
	}
};

/* The endpoint, between the two steps of a rendezvous */
struct Announced {
	Meeting meeting;
	std::shared_ptr<Endpoint> endpoint;
};

static Announced announce_from_python(StorePtr store, int rank, int size, int64_t global)
{
	Announced announced;

	announced.meeting = { std::move(store), rank, size, global };
	announced.endpoint = announce(announced.meeting);
	return announced;
}

static c10::intrusive_ptr<PythonGroup> new_group(const Announced &announced, BasePtr gloo,
						 std::chrono::milliseconds timeout)
{
	return c10::make_intrusive<PythonGroup>(announced.meeting, announced.endpoint,
						std::move(gloo), timeout);
}

static py::list report()
{
	py::list lines;

	for (const auto &line : report_lines())
		lines.append(py::make_tuple(line.call, line.way, line.why, line.calls, line.bytes));
	return lines;
}

PYBIND11_MODULE(_C, module)
{
	/* It registers the classes that those of this module are made of. */
	py::module_::import("torch.distributed");
	py::class_<Announced>(module, "Announced");
	py::class_<PythonGroup, c10::intrusive_ptr<PythonGroup>, Base>(module, "ProcessGroupCanary")
		.def("close", &PythonGroup::close, py::call_guard<py::gil_scoped_release>())
		.def_property_readonly("why", &PythonGroup::why)
		.def_property_readonly("gloo", &PythonGroup::gloo);
	module.def("announce", &announce_from_python, py::call_guard<py::gil_scoped_release>());
	module.def("new_group", &new_group, py::call_guard<py::gil_scoped_release>());
	module.def("report", &report);
	module.def("enabled", &settings_enabled);
	module.def("table", &settings_table);
	module.def("library_version", &canary_version);
}
