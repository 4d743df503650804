#!/usr/bin/env node
// Entry point of `gatehouse`: checks Node's version and starts the program. Nothing is imported before the check, and this file uses no
// syntax newer than `import()`: otherwise, an old Node would fail with a syntax error instead of an error about its version.

/** Must match `engines` in package.json. */
const nodeNeeded = 24;

if (Number(process.versions.node.split(".")[0]) < nodeNeeded) {
  process.stderr.write(
    `gatehouse: this is Node ${process.versions.node} (${process.execPath}); Gatehouse needs Node ${nodeNeeded} or later. ` +
      "Install it (https://nodejs.org), or put it first on PATH.\n",
  );
  process.exitCode = 1;
} else {
  // A failure exits the process with its stack trace.
  void import("./launch.js");
}
