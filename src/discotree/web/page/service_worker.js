// Keeps the files of a page without a server, so that it works offline. VERSION changes with every file; models are kept by the parser.

const VERSION = "VERSION";
const FILES = ["FILES"];
const CACHE = `discotree-page ${self.registration.scope} ${VERSION}`;

self.addEventListener("install", (event) => {
  self.skipWaiting();
  const requests = FILES.map((file) => new Request(file, { cache: "no-cache" })); // of this version, not what the browser has kept of another
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(requests)));
});

self.addEventListener("activate", (event) => {
  const isOld = (name) => name.startsWith(`discotree-page ${self.registration.scope} `) && name !== CACHE;
  event.waitUntil(caches.keys().then((names) => Promise.all(names.filter(isOld).map((name) => caches.delete(name)))).then(() => self.clients.claim()));
});

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  event.respondWith(caches.open(CACHE).then((cache) => cache.match(event.request, { ignoreSearch: true })).then((kept) => kept ?? fetch(event.request)));
});
