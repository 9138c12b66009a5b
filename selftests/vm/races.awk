# SPDX-License-Identifier: BSD-2-Clause
#
# Removes KCSAN's reports of races that are not ours from a kernel's console. A race is ours if one
# of the functions next to the access has RACES (in the environment) in its name. Functions further
# down only called others, or were interrupted. A report is between two lines of "=".

BEGIN { NEXT_TO = 4 }

function flush()
{
	if (!report || ours)
		printf "%s", text
	text = ""
	report = ours = 0
}

/ =====+$/ { flush(); next }
/BUG: KCSAN: / { report = 1; left = 0 }
/ to 0x[0-9a-f]+ of [0-9]+ bytes by (task|interrupt)/ { left = NEXT_TO }
left && /\+0x[0-9a-f]+\/0x[0-9a-f]+/ {
	left--
	if ($0 ~ ENVIRON["RACES"])
		ours = 1
}
{ text = text $0 "\n" }
END { flush() }
