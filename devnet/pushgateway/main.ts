import { endProcess } from "#daemon/process/end-process.ts";
import type { Service } from "#daemon/service.ts";
import { isOnPath, startRealPushgateway } from "./real-pushgateway.ts";
import { pushgatewaySettings } from "./settings.ts";
import { startInMemoryPushgateway } from "./in-memory-pushgateway.ts";

/** The real Pushgateway's program, as Debian names it. */
const program = "prometheus-pushgateway";

/** A Pushgateway: Prometheus's own if its program is on PATH, otherwise the stand-in, which logs at startup that it is a stand-in. */
export const pushgateway: Service<typeof pushgatewaySettings.schema> = {
  definition: pushgatewaySettings,
  async start({ implementation, persistenceFile, listen }, { log, metrics, resources }) {
    if (implementation === "stand-in" || !(await isOnPath(program))) {
      log.warn(
        { event: "pushgateway-is-stand-in" },
        "this is a stand-in for Prometheus's Pushgateway, for development: it keeps metrics in memory only",
      );
      const standIn = resources.use(await startInMemoryPushgateway({ listen }, { log, metrics }));
      return { urls: { pushgateway: standIn.url } };
    }
    const real = resources.use(await startRealPushgateway({ ...listen, program, persistenceFile }));
    log.info({ event: "pushgateway-is-real", program }, "this is the real Prometheus Pushgateway");
    void real.ended.then((how) => {
      log.fatal({ event: "pushgateway-ended", how }, "the Pushgateway exited; stopping");
      return endProcess(1);
    });
    return { urls: { pushgateway: real.url } };
  },
};
