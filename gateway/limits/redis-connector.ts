import { createConnection } from "node:net";
import { connect as createTlsConnection } from "node:tls";
import { AbstractConnector, type RedisOptions } from "ioredis";
import { lookupName } from "#daemon/http/name-lookup.ts";

/**
 * Connects to a Redis-protocol store like ioredis' own connector, but resolves the host name in the same way as the process's other
 * sockets. ioredis has no option for this: it retries every two seconds, and while a name server does not respond, each retry would block
 * another thread of the process's small thread pool.
 */
export class RedisConnector extends AbstractConnector {
  readonly #place: Readonly<{ host: string; port: number; lookup: typeof lookupName }>;
  readonly #isSecure: boolean;

  constructor({ host = "localhost", port = 6_379, tls, disconnectTimeout = 2_000 }: RedisOptions) {
    super(disconnectTimeout);
    this.#place = { host, port, lookup: lookupName };
    this.#isSecure = tls !== undefined;
  }

  override async connect() {
    this.connecting = true;
    // The code that creates the client attaches its event listeners only after this await.
    await Promise.resolve();
    if (!this.connecting) throw new Error("Connection is closed.");
    this.stream = this.#isSecure ? createTlsConnection(this.#place) : createConnection(this.#place);
    this.stream.once("error", (error) => (this.firstError = error));
    return this.stream;
  }
}
