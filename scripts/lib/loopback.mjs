// Preloaded into a conformance tool that listens: without a host it listens on loopback, so no one else can connect.
import { Server } from "node:net";

const listen = Server.prototype.listen;

Server.prototype.listen = function (where, ...rest) {
  if (typeof where === "object" && where !== null && "port" in where) {
    return listen.call(this, { host: "127.0.0.1", ...where }, ...rest);
  }
  if (typeof where !== "number" || typeof rest[0] === "string") {
    return listen.call(this, where, ...rest);
  }
  const [backlog] = rest.filter((each) => typeof each === "number");
  const callbacks = rest.filter((each) => typeof each === "function");
  return listen.call(this, { port: where, host: "127.0.0.1", backlog }, ...callbacks);
};
