// Loaded first by a measured process (`--import`): records the files that it loads and, on SIGWINCH, those whose
// functions ran since the last signal. Plain JavaScript, so that it loads nothing else.
import { renameSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { registerHooks } from "node:module";

const directory = process.env["GATEHOUSE_RECORDED_FILES"];
const loaded = new Set();
registerHooks({
  load: (url, context, next) => {
    loaded.add(url);
    return next(url, context);
  },
});

const session = new Session();
session.connect();
session.post("Profiler.enable");
session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });

let signals = 0;
process.on("SIGWINCH", () => {
  session.post("Profiler.takePreciseCoverage", (error, coverage) => {
    if (error !== null) throw new Error(error.message);
    signals += 1;
    save(
      `ran-${signals}`,
      coverage.result.filter(hasRun).map(({ url }) => url),
    );
  });
});
process.on("exit", () => save("loaded", [...loaded]));

function hasRun({ functions }) {
  return functions.some(({ ranges: [whole] }) => whole.count > 0);
}

function save(name, urls) {
  const path = `${directory}/${name}.json`;
  writeFileSync(`${path}.part`, JSON.stringify(urls));
  renameSync(`${path}.part`, path);
}
