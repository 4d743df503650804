// What Pulumi's engine starts for `pulumi package add`. Nothing here is newer than `import()`, because an old Node would end with an error about
// what it can't read instead of one about itself.

/** The same as `engines` in package.json. */
const nodeNeeded = 24;

if (Number(process.versions.node.split(".")[0]) < nodeNeeded) {
  process.stderr.write(
    `gatehouse: this is Node ${process.versions.node} (${process.execPath}); the components need Node ${nodeNeeded} or later. ` +
      "Install it (https://nodejs.org), or put it first on PATH.\n",
  );
  process.exitCode = 1;
} else {
  // The first two words are Node and Pulumi's own program. A failure ends the process with its trace.
  void import("../stack-component/component-provider.ts").then(({ serveComponents }) =>
    serveComponents(process.argv.slice(2)),
  );
}
