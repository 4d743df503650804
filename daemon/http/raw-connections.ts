import type { Socket } from "node:net";

/** Steers the reading of a socket whose reads were taken. */
export type SocketReads = Readonly<{
  /** Goes on after `received` answered false. */
  resume: () => void;
  /** Gives the reading back to the socket's stream. */
  release: () => void;
}>;

const nothing = Buffer.alloc(0);

/**
 * Takes what an accepted socket reads before it goes through the socket's stream, as `onread` does for a socket that connects; Node has no
 * such option for a server's sockets. The stream's part, a buffer that is looked after and a tick for each read, is a good part of what a
 * short request costs. Its end and its errors come as ever. `received` answers false to be given no more until `resume`.
 */
export function takeReads(socket: Socket, received: (bytes: Buffer) => boolean): SocketReads {
  let isStopped = false;
  let isReleased = false;
  const push = socket.push.bind(socket);
  // An empty piece tells the stream that its read is over, so that it reads again.
  const readAgain = () => void push(nothing);
  socket.push = (bytes: Buffer | null) => {
    if (bytes === null) return push(null);
    isStopped = !received(bytes) && !isReleased;
    return !isStopped;
  };
  return {
    resume: () => {
      if (!isStopped) return;
      isStopped = false;
      readAgain();
    },
    release: () => {
      isReleased = true;
      isStopped = false;
      Reflect.deleteProperty(socket, "push");
      readAgain();
    },
  };
}
