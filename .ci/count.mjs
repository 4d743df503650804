// `count.mjs <failed steps> <vitest report>…` prints which tests took longest, what was skipped and why, what failed and with which
// message, then `N passed, N failed, N skipped`, and exits with 1 if anything failed.
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const [failedSteps, ...reportPaths] = process.argv.slice(2);
const counts = { passed: 0, failed: Number(failedSteps), skipped: 0 };
const failures = [];
const durations = [];
let missing = 0;
for (const path of reportPaths) {
  try {
    const report = JSON.parse(readFileSync(path, "utf8"));
    counts.passed += report.numPassedTests;
    // A failed run is already one of the failed steps; its tests are counted instead.
    counts.failed += report.success ? 0 : Math.max(report.numFailedTests, 1) - 1;
    counts.skipped += report.numPendingTests + report.numTodoTests;
    for (const { name, message, status: fileStatus, assertionResults } of report.testResults) {
      const file = relative(process.cwd(), name);
      // The file itself could not be loaded or set up.
      if (fileStatus === "failed" && message !== "") failures.push(`failed: ${file}: ${message}`);
      for (const { status, fullName, failureMessages, duration = 0 } of assertionResults) {
        durations.push({ duration, test: `${file}: ${fullName}` });
        if (status === "failed") failures.push(`failed: ${file}: ${fullName}\n  ${failureMessages.join("\n  ")}`);
        else if (status !== "passed") console.log(`skipped: ${fullName}`);
      }
    }
  } catch (error) {
    console.log(`no test report: ${error.message}`);
    missing += 1;
  }
}
const slowest = durations.toSorted((one, other) => other.duration - one.duration).slice(0, 10);
for (const { duration, test } of slowest) console.log(`slow: ${Math.round(duration / 100) / 10} s ${test}`);
for (const failure of failures) console.log(shorten(failure, 2_400));
// A run without a report is also a failed step, unless it succeeded and wrote none.
counts.failed = Math.max(counts.failed, missing);
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1;

/** Returns the start and the end of a long text: the first shows what failed, the second a process's last output. */
function shorten(text, length) {
  if (text.length <= length) return text;
  return `${text.slice(0, length / 2)}\n  …\n${text.slice(-length / 2)}`;
}
