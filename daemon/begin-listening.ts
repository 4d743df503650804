import type { ListenOptions, Server } from "node:net";

/**
 * Makes a server listen, and listens to its errors for as long as it lives: one that can't take a connection, because no descriptor or
 * buffer is left, goes on without it. Node ends a process for an error that nobody listens to.
 *
 * @throws {NodeJS.ErrnoException} why it can't listen, e.g. EADDRINUSE.
 */
export async function beginListening(server: Server, where: ListenOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let isListening = false;
    server.on("error", (error) => {
      if (isListening) process.emitWarning(error);
      else reject(error);
    });
    server.listen(where, () => {
      isListening = true;
      resolve();
    });
  });
}
