// The entry point that Pulumi's engine starts for `pulumi package add`. Uses no syntax newer than `import()`, so that an old Node reports
// its version instead of a syntax error.

/** The same as `engines` in package.json. */
const nodeNeeded = 24;

if (Number(process.versions.node.split(".")[0]) < nodeNeeded) {
  process.stderr.write(
    `gatehouse: this is Node ${process.versions.node} (${process.execPath}); the components need Node ${nodeNeeded} or later. ` +
      "Install it (https://nodejs.org), or put it first on PATH.\n",
  );
  process.exitCode = 1;
} else {
  // The first two arguments are Node and Pulumi's own program. An error exits the process with a stack trace.
  void import("../stack-component/component-provider.ts").then(({ serveComponents }) =>
    serveComponents(process.argv.slice(2)),
  );
}
