// Preloaded into a judge that listens: where it names no host, it gets loopback, and nobody else can connect.
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
  const told = rest.filter((each) => typeof each === "function");
  return listen.call(this, { port: where, host: "127.0.0.1", backlog }, ...told);
};
