// Prints `N passed, N failed, N skipped` from vitest's own report and ends with 1 when anything failed.
import { readFileSync } from "node:fs";

const [reportPath, failedSteps] = process.argv.slice(2);
const counts = { passed: 0, failed: Number(failedSteps), skipped: 0 };
try {
  const report = JSON.parse(readFileSync(reportPath, "utf8"));
  counts.passed = report.numPassedTests;
  // A run that failed is one of the failed steps already; its tests are counted instead.
  counts.failed += report.numFailedTests - (report.success ? 0 : 1);
  counts.failed = Math.max(counts.failed, report.success ? 0 : 1);
  counts.skipped = report.numPendingTests + report.numTodoTests;
} catch (error) {
  console.log(`no test report: ${error.message}`);
  counts.failed = Math.max(counts.failed, 1);
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1;
