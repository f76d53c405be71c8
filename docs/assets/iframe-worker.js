// Browsers start no worker from a file: address, and search runs in one. There it runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.documentElement.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.receive(data);
      this.ready = new Promise((loaded, failed) => {
        const script = inner.document.createElement("script");
        script.src = new URL(address, location.href);
        script.onload = loaded;
        script.onerror = failed;
        inner.document.body.append(script);
      });
    }
    postMessage(data) {
      this.ready.then(() => {
        const inner = this.frame.contentWindow;
        inner.dispatchEvent(new inner.MessageEvent("message", { data }));
      });
    }
    receive(data) {
      this.dispatchEvent(new MessageEvent("message", { data }));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
