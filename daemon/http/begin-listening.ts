import type { ListenOptions, Server } from "node:net";
import { boundedLines, defaultBound } from "../bounded-log.ts";

/**
 * Makes a server listen, and listens to its errors for as long as it lives: one that can't take a connection, because no descriptor or
 * buffer is left, goes on without it. Node ends a process for an error that nobody listens to.
 *
 * @throws {NodeJS.ErrnoException} why it can't listen, e.g. EADDRINUSE; it may be tried again with the same server.
 */
export async function beginListening(server: Server, where: ListenOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const onListening = () => {
      server.off("error", onError);
      const warn = boundedLines(defaultBound, (omitted) => {
        process.emitWarning(`${omitted} more connections could not be taken, for reasons like the last ones`);
      });
      server.on("error", (error) => warn(() => process.emitWarning(error)));
      resolve();
    };
    const onError = (error: Error) => {
      server.off("listening", onListening);
      reject(error);
    };
    server.once("error", onError);
    server.once("listening", onListening);
    server.listen(where);
  });
}
