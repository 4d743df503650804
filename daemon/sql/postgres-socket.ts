import { Socket } from "node:net";
import { lookupName } from "../http/name-lookup.ts";

/** Creates a socket for the driver of PostgreSQL, which has no option for a lookup and connects by port and host, or by the path of a socket. */
export function createPostgresSocket(): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  return Object.assign(socket, {
    connect: (place: number | string, host = "localhost") =>
      typeof place === "string" ? connect(place) : connect({ port: place, host, lookup: lookupName }),
  });
}
