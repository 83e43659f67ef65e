"""An agent over the Model Context Protocol, with the official SDK: it repairs an exercise, and is graded.

The server is `coracle mcp`, started by the SDK. CORACLE is the program.
"""

import asyncio
import os

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SERVER = StdioServerParameters(command=os.environ["CORACLE"], args=["mcp"])
READY = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "queue"}, "status": {"readyReplicas": 3}}
IMAGE = {"spec": {"template": {"spec": {"containers": [{"name": "queue", "image": "queue:2"}]}}}}


async def episode(seed):
    """One episode: what the pods are called before and after a reset."""
    async with stdio_client(SERVER) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        assert hello.server_info.name == "coracle", hello
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}

        async def call(tool, /, **arguments):
            assert arguments.keys() <= tools[tool].input_schema.get("properties", {}).keys(), tool
            result = await session.call_tool(tool, arguments)
            assert not result.is_error, result
            return result.structured_content or result.content[0].text

        async def refused(tool, /, **arguments):
            result = await session.call_tool(tool, arguments)
            assert result.is_error, result
            return result.content[0].text

        async def repaired():
            verdict = await call("check_exercise")
            return verdict["repaired"]

        async def repair():
            await call("patch", resource="statefulset", name="queue", patch=IMAGE)
            await call("settle", within="10m")
            assert not await repaired(), "the broken pod is not replaced"
            await call("delete", resource="pod", name="queue-0")
            await call("wait", object=READY)
            assert await repaired()
            pods = await call("get", resource="pods", output="json")
            return [pod["metadata"]["uid"] for pod in pods["items"]]

        names = [exercise["name"] for exercise in (await call("list_exercises"))["exercises"]]
        assert len(names) >= 20 and "blocked-statefulset" in names, names
        assert "start_cluster" in await refused("get", resource="pods")
        started = await call("start_exercise", name="blocked-statefulset", seed=seed)
        assert "queue-0" in started["exercise"]["report"], started
        assert "ImagePull" in await call("get", resource="pods")
        assert not await repaired()
        assert 'pods "none" not found' == await refused("get", resource="pods", name="none")
        first = await repair()
        await call("reset")
        assert not await repaired(), "the reset cluster is broken"
        second = await repair()
        await call("stop_cluster")
        return first, second


async def main():
    first, again, other = await episode(3), await episode(3), await episode(4)
    assert first == again, (first, again)
    assert first != other, first


asyncio.run(main())
