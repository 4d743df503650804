#!/usr/bin/env node
// What `gatehouse` starts with: looks at Node's version and starts the rest. Nothing is imported above that line, and nothing here is newer
// than `import()`, because an old Node would end with an error about what it can't read instead of one about itself.

/** The same as `engines` in package.json. */
const nodeNeeded = 24;

if (Number(process.versions.node.split(".")[0]) < nodeNeeded) {
  process.stderr.write(
    `gatehouse: this is Node ${process.versions.node} (${process.execPath}); Gatehouse needs Node ${nodeNeeded} or later. ` +
      "Install it (https://nodejs.org), or put it first on PATH.\n",
  );
  process.exitCode = 1;
} else {
  // A failure ends the process with its trace.
  void import("./launch.js");
}
