"""worker.py THEME FILE [dry]: runs programs of a theme in this process, in the present folder. Names of programs come by standard input, one a
line with the results of it that are to be left out; FILE gets a line of JSON before and after each: a program that ends the process is the
one without its second line. worker.py --list prints the themes' programs with their texts and digests."""
import importlib
import json
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import themes  # noqa: E402


def load_themes():
    for file in sorted(os.listdir(HERE)):
        if file.startswith("programs_") and file.endswith(".py"):
            importlib.import_module(file[:-3])
    return themes.THEMES


def main():
    if sys.argv[1] == "--list":
        rows = [{"theme": t.name, "case": n, "digest": t.digest(n), "common": t.text, "text": f.text, "files": t.files, "options": t.options} for t in load_themes().values() for n, f in t.programs.items()]
        print(json.dumps(rows, default=str))
        return
    name, path = sys.argv[1:3]
    if sys.argv[3:] == ["dry"]:
        themes.dry = True
        import stand_in
        stand_in.begin()
    theme, out = load_themes()[name], open(path, "a", encoding="utf-8", buffering=1)
    import slangtorch
    out.write(json.dumps({"package": os.path.realpath(slangtorch.__file__)}) + "\n")
    lines = [line.split() for line in sys.stdin.read().splitlines()]
    begin, m = time.perf_counter(), None
    if theme.source([n for n, *_ in lines]):
        try:
            m = theme.load([n for n, *_ in lines])
        except BaseException as e:  # whatever a library raises is its result
            out.write(json.dumps({"module": "fails", **themes.told(e), "all": str(e)[-1500:]}) + "\n")
            os._exit(0)
    out.write(json.dumps({"module": "built", "seconds": round(time.perf_counter() - begin, 2)}) + "\n")
    themes.progress = lambda at: out.write(json.dumps({"at": at}) + "\n")
    for case, *themes.crashing in lines:
        out.write(json.dumps({"case": case, "start": True}) + "\n")
        begin, answer = time.perf_counter(), {"case": case}
        try:
            value = theme.programs[case](m)
            themes.settle()
            answer["value"] = themes.plain(value)
        except BaseException as e:
            answer.update(themes.told(e))
            answer["text"] = str(e)[:1500]
            answer["where"] = [f"{os.path.basename(s.filename)}:{s.lineno}" for s in traceback.extract_tb(e.__traceback__) if HERE in s.filename][-2:]
        answer["seconds"] = round(time.perf_counter() - begin, 3)
        out.write(json.dumps(answer) + "\n")
    out.flush()
    os._exit(0)  # how a library ends is no result here


if __name__ == "__main__":
    main()
