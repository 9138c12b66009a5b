# SPDX-License-Identifier: BSD-2-Clause
#
# A kernel's console without KCSAN's reports of races that are others'. One is ours if one of the
# functions next to the access has RACES (in the environment) in it: further down stands whoever had
# other things done, or was interrupted. A report stands between two lines of "=".

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
